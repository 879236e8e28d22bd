import type { ResponseShaping } from '../../config/index.ts'
import type { Path, Report, Reporter } from '../../findings/index.ts'
import { isObject, type Json, type JsonObject } from '../../json/index.ts'
import {
  compileMasks,
  compilePages,
  READ_RESULT,
  type ShapingFault,
  unmatched,
} from '../../json/shaping/index.ts'
import { nearest, quote, quoteSome } from '../../text/index.ts'

/** The value that masks must match. */
interface Answers {
  schema: JsonObject
  /** Its name in messages. */
  name: string
}

/** Masks of a `response` that are invalid or match nothing in the schema. @param path of the `response` */
export function checkResponse(
  response: ResponseShaping,
  schema: JsonObject | undefined,
  path: Path,
  report: Reporter,
) {
  checkMasks(response, schema && { schema, name: '`outputSchema`' }, path, report)
}

/** Masks of a valid `response` that match nothing in an answer. @param path of the `response` */
export function unmatchedMasks(response: ResponseShaping, answer: Json, path: Path): Report[] {
  const found: Report[] = []
  checkMasks(response, { schema: schemaOf(answer), name: 'the response' }, path, (one) => found.push(one))
  return found
}

function checkMasks(response: ResponseShaping, answers: Answers | undefined, path: Path, report: Reporter) {
  const masks = compileMasks(response)
  if (Array.isArray(masks)) for (const fault of masks) report(maskReport(fault, path))
  else if (answers) {
    checkMatches(masks.select, answers, [...path, 'select'], report)
    for (const [i, entries] of masks.drop.entries())
      checkMatches(entries, answers, [...path, 'drop', i], report)
  }
  if (response.pages) checkPages(response.pages, answers, [...path, 'pages'], report)
}

function checkPages(
  texts: NonNullable<ResponseShaping['pages']>,
  answers: Answers | undefined,
  path: Path,
  report: Reporter,
) {
  const pages = compilePages(texts, Number.POSITIVE_INFINITY)
  if (Array.isArray(pages)) for (const fault of pages) report(maskReport(fault, path.slice(0, -1)))
  else if (answers) {
    const { items, next } = pages.entries
    checkMatches([items], answers, [...path, ...(texts.items === undefined ? [] : ['items'])], report)
    if (next) checkMatches([next], answers, [...path, 'next'], report)
  }
}

/** The name of the gateway's own tool. @param path of the name */
export function takenName(path: Path): Report {
  return {
    code: 'duplicate-name',
    path,
    message: `\`more: handle\` gives the endpoint a tool \`${READ_RESULT}\` of its own, which hides this one`,
    hint: 'Choose another name, or remove `more`',
  }
}

/** @param path of the `response` */
export function maskReport({ path: at, fault, start, end }: ShapingFault, path: Path): Report {
  const isPath = at[0] === 'pages'
  return {
    code: 'mask-syntax',
    path: [...path, ...at],
    start,
    end,
    message: `the ${isPath ? 'path' : 'mask'} ${fault}`,
    hint: isPath
      ? 'Write one path, such as `data.items`'
      : 'Write paths such as `items[].{id, user: user.login}`',
  }
}

function checkMatches(
  entries: Parameters<typeof unmatched>[0],
  { schema, name }: Answers,
  path: Path,
  report: Reporter,
) {
  const missed = unmatched(entries, schema)
  // Examples help if the schema is incomplete.
  const examples = Array.isArray(schema.examples) ? schema.examples : []
  for (const { entry, missing, known, list } of missed.length || !examples.length
    ? missed
    : unmatchedBy(entries, examples)) {
    const suggestion = nearest(missing, known)
    report({
      code: 'mask-without-match',
      path,
      start: entry.start,
      end: entry.end,
      message:
        missing === '[]'
          ? `the mask has \`[]\` where ${name} has no array`
          : list !== undefined
            ? `${list === '' ? name : quote(list)} is an array, and the mask treats it as an object`
            : `the mask names ${quote(missing)}, which ${name} does not have there`,
      ...(suggestion !== undefined && { suggestion }),
      hint:
        list !== undefined
          ? `Write ${quote(`${list}[]`)}`
          : known.length
            ? `It has ${quoteSome(known)}`
            : 'Remove it, or fix the path',
    })
  }
}

/** Entries that match none of the examples. */
function unmatchedBy(entries: Parameters<typeof unmatched>[0], examples: readonly Json[]) {
  return unmatched(entries, { anyOf: examples.map(schemaOf) })
}

/** A schema that describes exactly an example. */
function schemaOf(example: Json): JsonObject {
  if (Array.isArray(example))
    return example.length ? { type: 'array', items: { anyOf: example.map(schemaOf) } } : {}
  if (!isObject(example)) return example === null ? {} : { type: 'string' }
  const properties = Object.fromEntries(
    Object.entries(example).map(([name, value]) => [name, schemaOf(value)]),
  )
  return { type: 'object', properties }
}
