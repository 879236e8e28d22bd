/** What a store of configurations holds, as commands acknowledged it. */
import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Ended, Rung } from './ladder.ts'
import { ask, cleanly, type Home, settle } from './served.ts'

/** Writes a version of two configurations, each with a tool that is named after it. */
export function version(rung: Rung, n: number): string {
  const folder = join(rung.folder, `version-${n}`)
  mkdirSync(folder)
  for (const name of ['east', 'west']) writeFileSync(join(folder, `${name}.yaml`), textOf(name, n))
  return folder
}

export function textOf(name: string, n: number): string {
  return `name: ${name}
routers: [{server: ${name}, prefix: /${name}-${n}}]
servers: [{name: ${name}, config: {}}]
tools: [{name: tool${n}, description: d, method: GET, endpoint: "http://127.0.0.1:9/"}]
`
}

/** The version of each configuration that the store holds now; of an `apply` both are there or none. */
async function stored(rung: Rung, { settings }: Home): Promise<number> {
  const texts = []
  for (const name of ['east', 'west']) texts.push(await rung.clean(['config', 'get', name, '-s', settings]))
  const versions = texts.map((text) => Number(/tool(\d)/.exec(text)?.[1]))
  assert.equal(versions[0], versions[1], `half of a change: ${versions}`)
  return versions[0]!
}

/**
 * Whether the store holds the version that a command acknowledged, or, where it failed, that one or the one before; then
 * writes another one without a fault.
 */
export async function checkChange(
  rung: Rung,
  home: Home,
  ended: Ended,
  versions: { before: number; after: number },
) {
  const held = await stored(rung, home)
  const possible = ended.code === 0 ? [versions.after] : [versions.before, versions.after]
  assert.ok(
    possible.includes(held),
    `the store holds ${held}, not ${possible} after ${ended.code}:\n${ended.stderr}`,
  )
  await rung.clean(['config', 'apply', '-s', home.settings, '-f', version(rung, 9)])
  assert.equal(await stored(rung, home), 9)
}

export const isServed = async (home: Home, n: number) => (await ask(home, `/east-${n}/mcp`)).status !== 404

/** `config apply` of a second version. */
export async function applied(rung: Rung, settings: Record<string, unknown>): Promise<void> {
  const home = await settle(rung, settings)
  const apply = ['config', 'apply', '-s', home.settings, '-f']
  await rung.clean([...apply, version(rung, 1)])
  const ended = await rung.command([...apply, version(rung, 2)])
  await checkChange(rung, home, ended, { before: 1, after: 2 })
}

/** `config rollback` of one of them. */
export async function rolledBack(rung: Rung, storage: object): Promise<void> {
  const home = await settle(rung, { storage })
  for (const n of [1, 2]) await rung.clean(['config', 'apply', '-s', home.settings, '-f', version(rung, n)])
  const ended = await rung.command(['config', 'rollback', 'east', '-s', home.settings])
  const [, held] = /tool(\d)/.exec(await rung.clean(['config', 'get', 'east', '-s', home.settings])) ?? []
  assert.ok(held === '1' || (held === '2' && ended.code !== 0), `version ${held} after ${ended.code}`)
  await rung.clean(['config', 'rollback', 'west', '-s', home.settings])
}

/** Starts on a store, or ends with a reason. */
export async function started(rung: Rung, settings: Record<string, unknown>): Promise<void> {
  const home = await settle(rung, settings)
  await rung.clean(['config', 'apply', '-s', home.settings, '-f', version(rung, 1)])
  const serve = ['serve', '-s', home.settings]
  const gateway = rung.faulty(serve)
  if (await gateway.serves()) {
    assert.equal((await ask(home, '/_health')).status, 200)
    await gateway.stop()
  }
  await cleanly(rung, serve, async () => {
    assert.ok(await isServed(home, 1))
    assert.equal((await ask(home, '/plants')).status, 200)
  })
}

/** Whether each version is served, at a moment: the watch may reload between two questions. */
async function versionsServed(home: Home): Promise<[boolean, boolean]> {
  for (;;) {
    const first = await isServed(home, 1)
    const second = await isServed(home, 2)
    if ((await isServed(home, 1)) === first) return [first, second]
  }
}

/**
 * Reloads by a signal and by HTTP what `change` brought. One fault may keep a version out for one reload, and no more.
 * @param change makes version 2 the newest
 */
export async function reloaded(
  rung: Rung,
  home: Home,
  serve: readonly string[],
  change: () => Promise<unknown>,
): Promise<void> {
  const gateway = rung.faulty(serve, { armed: false })
  assert.ok(await gateway.serves())
  assert.ok(await isServed(home, 1))
  await gateway.arm()
  await change()
  gateway.running.child.kill('SIGHUP')
  // The watch asks for reloads, too, so that the fault may be in a later one.
  let left = 3
  for (let done = false; !done; left--) {
    const { status, body } = await ask(home, '/_reload', { method: 'POST' })
    assert.ok(status === 200 || (status === 422 && left > 0), `${status} ${body}`)
    const [first, second] = await versionsServed(home)
    assert.notEqual(first, second, `nothing is served, or both versions: ${body}`)
    done = status === 200
  }
  assert.ok(await isServed(home, 2), 'the new version is not served')
  await gateway.stop()
}
