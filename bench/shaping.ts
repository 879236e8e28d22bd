import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  isObject,
  type Json,
  type JsonObject,
  parseVerbatim,
  pointerSegments,
  stringify,
  valueAt,
} from '../src/json/index.ts'
import { compileShaping, nothingOmitted, type Shaping, type ShapingTexts } from '../src/json/shaping/index.ts'
import { tokensIn } from '../src/text/index.ts'
import { description } from './discovery/apis.ts'

/** Items of a page by default, at GitHub and elsewhere; examples have one or two. */
const PAGE = 30
/** Milliseconds for which each answer is shaped. */
const LONG = 300

interface Case {
  api: string
  path: string
  /** Whether the example's list becomes a page. Default: it does */
  single?: boolean
  response: ShapingTexts
}

const CASES: readonly Case[] = [
  {
    api: 'github',
    path: '/repos/{owner}/{repo}/issues',
    response: { select: '[].{number, title, state, user: user.login, labels: labels[].name}' },
  },
  {
    api: 'github',
    path: '/repos/{owner}/{repo}/issues',
    response: { select: '[].{number, title, state, user: user.login, labels: labels[].name}', format: 'csv' },
  },
  {
    api: 'github',
    path: '/repos/{owner}/{repo}/issues',
    response: { drop: ['**.user', '**.assignee', '**.assignees', '**.closed_by', '**.repository'] },
  },
  {
    api: 'github',
    path: '/repos/{owner}/{repo}/pulls',
    response: { select: '[].{number, title, draft, user: user.login, head: head.ref, base: base.ref}' },
  },
  {
    api: 'github',
    path: '/repos/{owner}/{repo}/pulls/{pull_number}',
    single: true,
    response: { select: 'number, title, body, state, mergeable, user: user.login, changed_files' },
  },
  {
    api: 'github',
    path: '/repos/{owner}/{repo}/actions/runs',
    response: {
      select: 'total_count, workflow_runs[].{id, name, head_branch, status, conclusion, created_at}',
    },
  },
  {
    api: 'github',
    path: '/repos/{owner}/{repo}/commits',
    response: { select: '[].{sha, message: commit.message, author: commit.author}' },
  },
  {
    api: 'github',
    path: '/search/code',
    response: { select: 'total_count, items[].{path, repository: repository.full_name}' },
  },
  { api: 'github', path: '/orgs/{org}/repos', response: { maxChars: 20_000 } },
  {
    api: 'slack',
    path: '/users.list',
    response: { select: 'members[].{id, name, real_name, is_bot}, response_metadata' },
  },
  {
    api: 'slack',
    path: '/conversations.list',
    response: { select: 'channels[].{id, name, topic: topic.value, num_members}' },
  },
]

const DOCS = join(import.meta.dirname, '../docs/shaping.md')
const [BEGIN, END] = ['<!-- npm run bench shaping -->', '<!-- end -->']

/** What shaping saves of example responses, and what it costs; also written into `docs/shaping.md`. */
export async function shapingBench(): Promise<string> {
  const documents = new Map(
    ['github', 'slack'].map((api) => [api, JSON.parse(description(api)) as JsonObject]),
  )
  const rows: string[] = []
  const costs: number[] = []
  for (const one of CASES) {
    const text = answerOf(documents.get(one.api)!, one)
    const shaping = compileShaping(one.response, 100_000)
    if (Array.isArray(shaping)) throw new Error(`${one.path}: ${shaping[0]!.fault}`)
    const shaped = await shapedText(text, shaping)
    costs.push(await costOf(text, shaping))
    rows.push(row(one, text, shaped))
  }
  costs.sort((a, b) => a - b)
  const [least, most] = [costs[0]!, costs.at(-1)!].map((cost) => cost.toFixed(0))
  const table = [
    '| response | `response` | characters | tokens | saved |',
    '|---|---|---|---|---|',
    ...rows,
    '',
    `Reading, shaping and writing a response takes ${least} to ${most} µs of CPU per KB (1,000 characters).`,
  ].join('\n')
  const page = readFileSync(DOCS, 'utf8')
  const [before, rest] = page.split(BEGIN)
  const [, after] = rest?.split(END) ?? []
  if (before === undefined || after === undefined) throw new Error(`${DOCS} has no place for the table`)
  writeFileSync(DOCS, `${before}${BEGIN}\n\n${table}\n\n${END}${after}`)
  return table
}

function row({ api, path, response }: Case, text: string, shaped: string): string {
  const { select, drop, maxChars, format } = response
  const settings = {
    ...(select && { select }),
    ...(drop && { drop }),
    ...(maxChars && { maxChars }),
    ...(format && { format }),
  }
  const shown = Object.entries(settings).map(
    ([key, value]) => `\`${key}: ${typeof value === 'object' ? value.join(', ') : value}\``,
  )
  const counts = [(size: number) => size, tokensIn].map(
    (of) => `${of(text.length).toLocaleString('en-US')} → ${of(shaped.length).toLocaleString('en-US')}`,
  )
  const saved = Math.round((1 - shaped.length / text.length) * 100)
  return `| ${api} \`${path}\` | ${shown.join(', ')} | ${counts.join(' | ')} | ${saved} % |`
}

/** The example of a description; its list is repeated until it is a page. */
function answerOf(document: JsonObject, { path, single }: Case): string {
  const response = valueAt(document, ['paths', path, 'get', 'responses', '200']) as JsonObject
  const content = valueAt(response, ['content', 'application/json']) ?? response
  const { examples, example } = content as JsonObject
  const found = resolved(document, isObject(examples) ? Object.values(examples)[0] : example)
  const value = isObject(found) && found.value !== undefined ? found.value : found
  if (value === undefined) throw new Error(`${path} has no example`)
  return stringify(single ? value : paged(value))
}

function resolved(document: JsonObject, value: Json | undefined): Json | undefined {
  const ref = isObject(value) ? value.$ref : undefined
  return typeof ref === 'string' ? valueAt(document, pointerSegments(ref)) : value
}

function paged(value: Json): Json {
  if (Array.isArray(value)) return Array.from({ length: PAGE }, (_, i) => value[i % value.length] as Json)
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, Array.isArray(member) ? paged(member) : member]),
  )
}

async function shapedText(text: string, shaping: Shaping): Promise<string> {
  const omitted = nothingOmitted()
  const {
    text: shaped,
    beside = '',
    notice = '',
  } = await shaping.present(shaping.apply(parseVerbatim(text), omitted), omitted)
  return shaped + beside + notice
}

/** Microseconds of CPU per 1,000 characters. */
async function costOf(text: string, shaping: Shaping): Promise<number> {
  const end = performance.now() + LONG
  while (performance.now() < end) await shapedText(text, shaping)
  const started = process.cpuUsage()
  let rounds = 0
  for (const until = performance.now() + LONG; performance.now() < until; rounds++)
    await shapedText(text, shaping)
  const { user, system } = process.cpuUsage(started)
  return ((user + system) / rounds / text.length) * 1000
}
