import { compile } from '../src/template/index.ts'

/** Milliseconds that each way runs in each round, and rounds, of which the median counts. */
const ROUND = 150
const ROUNDS = 7

interface Subject {
  name: string
  template: string
  data: Record<string, unknown>
  /** The same text by a function that a person would write. */
  byHand(data: never): string
  /** About the same text by JSON.stringify. */
  stringify(data: never): string
}

type SeedData = { Args: { username: string; email: string } }
type ListData = { Args: { title: string; items: { id: number; name: string; tag: string }[] } }

const seed: Subject = {
  name: "the seed's request body",
  template: '{"username": "{{.Args.username}}", "email": "{{.Args.email}}"}',
  data: { Args: { username: 'fern', email: 'fern@example.org' } },
  byHand: ({ Args }: SeedData) =>
    `{"username": ${JSON.stringify(Args.username)}, "email": ${JSON.stringify(Args.email)}}`,
  stringify: ({ Args }: SeedData) => JSON.stringify({ username: Args.username, email: Args.email }),
}

const list: Subject = {
  name: '5 KiB, a range over 100 items',
  template:
    '{"title": "{{.Args.title}}", "items": [{{range $i, $e := .Args.items}}{{if $i}}, {{end}}{"id": {{$e.id}}, "name": "{{$e.name}}", "tag": "{{$e.tag}}"}{{end}}]}',
  data: {
    Args: {
      title: 'plants',
      items: Array.from({ length: 100 }, (_, id) => ({ id, name: `plant number ${id}`, tag: 'indoor' })),
    },
  },
  byHand: ({ Args }: ListData) => {
    let out = `{"title": ${JSON.stringify(Args.title)}, "items": [`
    Args.items.forEach((item, at) => {
      if (at > 0) out += ', '
      out += `{"id": ${item.id}, "name": ${JSON.stringify(item.name)}, "tag": ${JSON.stringify(item.tag)}}`
    })
    return `${out}]}`
  },
  stringify: ({ Args }: ListData) => JSON.stringify({ title: Args.title, items: Args.items }),
}

/** Calls per second. */
function measure(run: () => string): number {
  let calls = 0
  let length = 0
  const start = performance.now()
  let now = start
  while (now - start < ROUND) {
    for (let at = 0; at < 50; at++) length += run().length
    calls += 50
    now = performance.now()
  }
  if (length === 0) throw new Error('nothing was rendered')
  return (calls * 1000) / (now - start)
}

function median(values: number[]): number {
  return values.sort((a, b) => a - b)[values.length >> 1]!
}

function row({ name, template: source, data, byHand, stringify }: Subject): string {
  const { template, errors } = compile(source, { place: 'json' })
  if (!template) throw new Error(errors[0]?.message)
  const hand = byHand as (data: unknown) => string
  const native = stringify as (data: unknown) => string
  if (template.render(data) !== hand(data)) throw new Error('the texts differ')
  // Strings are made flat, as they are when they are sent.
  const flat = (text: string) => {
    Buffer.byteLength(text)
    return text
  }
  const ways = [() => flat(template.render(data)!), () => flat(hand(data)), () => flat(native(data))]
  const rates: number[][] = ways.map(() => [])
  for (let round = 0; round <= ROUNDS; round++) {
    ways.forEach((way, at) => {
      const rate = measure(way)
      // The first round warms up.
      if (round > 0) rates[at]!.push(rate)
    })
  }
  const [ours, theirs, builtin] = rates.map(median) as [number, number, number]
  const thousands = (value: number) => Math.round(value).toLocaleString('en-US')
  const ratios = `${(theirs / ours).toFixed(2)} | ${(builtin / ours).toFixed(2)}`
  return `| ${name} | ${thousands(ours)} | ${thousands(theirs)} | ${thousands(builtin)} | ${ratios} |`
}

/**
 * Renders per second of compiled templates, in interleaved rounds, against the same text by a hand-written
 * function and by JSON.stringify. A ratio of 3 means that the template takes three times as long.
 */
export async function templateBench(): Promise<string> {
  return [
    '| rendered | template /s | by hand /s | JSON.stringify /s | times by hand | times JSON.stringify |',
    '|---|---|---|---|---|---|',
    ...[seed, list].map(row),
  ].join('\n')
}
