import { conditionText, joined, members, print, range, separator, sourceText, type Write } from './style.ts'
import type { Pair } from './tool-draft.ts'

/** A part of a query or form, as template text. */
interface Piece {
  text: string
  /** Action of its block, such as `if .Config.key`; undefined: unconditional. */
  block?: string
}

/**
 * Pairs of a query or form as a template, joined by `&`, with absent ones omitted.
 * @param start text before the first pair, if any
 */
export function pairsText(pairs: readonly Pair[], start: string, place: 'query' | 'form'): string {
  const pieces = piecesOf(pairs, place === 'form')
  const always = pieces.filter(({ block }) => block === undefined).map(({ text }) => text)
  const others = pieces.filter(({ block }) => block !== undefined)
  const inBlock = ({ block, text }: Piece, before: string, after = '') =>
    `{{${block}}}${before}${text}${after}{{end}}`
  if (always.length > 0 || start === '&') {
    const before = always.length > 0 ? start + always.join('&') : ''
    return before + others.map((piece) => inBlock(piece, '&')).join('')
  }
  if (others.length < 2) return others.map((piece) => inBlock(piece, start)).join('')
  // Only literal text is never escaped: a form would encode a separator written by an action.
  const between = `{{if $and}}&{{${start === '' ? '' : `else}}${start}{{`}end}}`
  const blocks = others.map((piece, i) =>
    inBlock(piece, i === 0 ? start : between, i < others.length - 1 ? '{{$and = true}}' : ''),
  )
  return `{{$and := false}}${blocks.join('')}`
}

function piecesOf(pairs: readonly Pair[], isForm: boolean): Piece[] {
  const inObject = pairs.filter(isMember)
  if (inObject.length === 1 && inObject[0]!.what.kind === 'scalar') return pairs.map(pieceOf)
  const others = pairs.filter((pair) => !isMember(pair)).map(pieceOf)
  if (inObject.length === 0) return others
  const pipe = `toQuery (${objectOf(inObject, isForm)})`
  const isAlways =
    (isForm && others.length === 0) ||
    inObject.some(({ arg, what }) => what.kind === 'scalar' && conditionText(arg) === undefined)
  return [isAlways ? { text: `{{${pipe}}}` } : { block: `with ${pipe}`, text: '{{.}}' }, ...others]
}

/** Written by `toQuery`, which also sends empty texts. */
function isMember({ arg: { fixed }, what: { kind } }: Pair): boolean {
  return (kind === 'scalar' || kind === 'deep') && !fixed?.mayBeEmpty
}

function objectOf(pairs: readonly Pair[], isForm: boolean): string {
  // In a query, reading all arguments would prevent the gateway from sending others itself.
  if (isForm && pairs.every(({ arg, name }) => arg.name === name && !arg.fixed))
    return `pick .Args ${pairs.map(({ name }) => JSON.stringify(name)).join(' ')}`
  return `dict ${pairs.map(({ arg, name }) => `${JSON.stringify(name)} ${sourceText(arg)}`).join(' ')}`
}

function pieceOf(pair: Pair): Piece {
  const { arg, what } = pair
  const value = sourceText(arg)
  const given = conditionText(arg)
  const text = textOf(pair)
  // A list or object may be empty.
  if (what.mixed) return { block: `if not (eq (toJSON ${value}) "null" "[]")`, text }
  if (what.kind === 'array' || what.kind === 'object') return { block: `if ${value}`, text }
  return given === undefined ? { text } : { block: `if ${given}`, text }
}

function textOf({ arg, name, what, style: { style, explode } }: Pair): string {
  const key = encodeURIComponent(name)
  const value = sourceText(arg)
  // Templates do not escape values of `.Config` in URLs.
  const write: Write = arg.fixed ? (text) => `{{urlquery ${text}}}` : print
  const one = (text: string) => `${key}=${write(text)}`
  const each = `${range('$i, $v := ', value)}{{if $i}}&{{end}}${one('$v')}{{end}}`
  switch (what.kind) {
    case 'json':
      return one(`(toJSON ${value})`)
    case 'array': {
      const list = explode ? each : `${key}=${joined(value, separator(style), write)}`
      return what.mixed ? `{{if kindIs "slice" ${value}}}${list}{{else}}${one(value)}{{end}}` : list
    }
    case 'object':
      return explode ? print(`(toQuery ${value})`) : `${key}=${members(value, ',', write)}`
    default:
      return one(value)
  }
}
