import autocannon from 'autocannon'
import { cpuSeconds, type Running, spread, start } from './process.ts'
import { statelessCall } from './stateless-call.ts'

/**
 * What an open page of the console costs: CPU for each call while a browser loads the page again with each change, as
 * `browser.js` does, beside calls without a browser. Rounds take turns, ratios are within a round.
 */
const ROUNDS = Number(process.env.ROUNDS ?? 7)
const SECONDS = Number(process.env.SECONDS ?? 4)
/** Seconds before the first round, as the compiler of V8 works for about ten. */
const WARM_UP = Number(process.env.WARM_UP ?? 12)
const PORT = 22_300

const ORIGIN = `http://127.0.0.1:${PORT + 1}`
/** A browser on one page, which it loads again with each change. @returns a function that closes it */
async function browse(page: string): Promise<() => void> {
  const end = new AbortController()
  const { signal } = end
  const { body } = await fetch(`${ORIGIN}/_console/changes`, { signal })
  const load = () =>
    fetch(ORIGIN + page, { signal, headers: { accept: 'text/html' } }).then((response) => response.text())
  body?.pipeTo(new WritableStream({ write: async () => void (await load()) })).catch(() => {})
  return () => end.abort()
}

/** @returns calls per CPU-second of the gateway */
async function round({ pid }: Running, page: string | undefined, seconds: number): Promise<number> {
  const close = page === undefined ? () => {} : await browse(page)
  const before = cpuSeconds(pid)
  const result = await autocannon({
    url: `${ORIGIN}/bench/mcp`,
    connections: 16,
    duration: seconds,
    ...statelessCall({ id: 42, tag: 'shade & wet' }),
  })
  const used = cpuSeconds(pid) - before
  close()
  if (result.errors || result.non2xx) throw new Error(`${result.errors} errors, ${result.non2xx} refused`)
  return result['2xx'] / used
}

const PAGES: Record<string, string | undefined> = {
  closed: undefined,
  'closed again': undefined,
  overview: '/_console',
  calls: '/_console/calls',
}

export async function consoleBench(): Promise<string> {
  const running: Running[] = []
  try {
    const env = { PORT: String(PORT), UPSTREAM: `http://127.0.0.1:${PORT}` }
    running.push(await start(['--import', 'tsx', 'bench/servers/upstream.ts'], env))
    const serve = ['bin/plantgw.js', 'serve', 'bench/servers/tool.yaml', '--port', String(PORT + 1)]
    const gateway = await start([...serve, '--log-format', 'json', '--log-level', 'warn'], env)
    running.push(gateway)
    const pages = Object.entries(PAGES)
    await round(gateway, undefined, WARM_UP)
    const rounds: number[][] = []
    for (let i = 0; i < ROUNDS; i++) {
      const results: number[] = []
      for (const [, page] of pages) results.push(await round(gateway, page, SECONDS))
      rounds.push(results)
    }
    const rows = pages.map(([name], i) => {
      const own = spread(rounds.map((results) => results[i]!)).replace(/\.\d\d/g, '')
      return `| ${name} | ${own} | ${spread(rounds.map((results) => results[0]! / results[i]!))} |`
    })
    return [
      `The console during calls, ${ROUNDS} rounds of ${SECONDS} s, median (least…most):`,
      '',
      '| page | calls per CPU-second | CPU for a call, to closed |',
      '|---|---|---|',
      ...rows,
    ].join('\n')
  } finally {
    await Promise.all(running.map((each) => each.stop()))
  }
}
