import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { openStore } from '../../src/store/index.ts'
import { temporaryFolder } from '../support/process.ts'
import { of } from './contract.ts'
import { KINDS } from './kinds.ts'

const CHILD = fileURLToPath(new URL('apply.child.js', import.meta.url))
const NAMES = ['a', 'b', 'c', 'd']
/** 50 rounds in all. */
const ROUNDS = { directory: 14, lowdb: 12, postgres: 12, mysql: 12 }

interface Told {
  began?: number
  done?: number
  failed?: number
}

/** Applies from generation `first` on, and is killed in the middle of an apply; what it said until then. */
async function killed(t: TestContext, settings: string, folder: string, first: number, after: number) {
  const child = fork(CHILD, [settings, folder, NAMES.join(), String(first)], {
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })
  t.after(() => child.kill('SIGKILL'))
  let errors = ''
  child.stderr!.setEncoding('utf8').on('data', (text) => (errors += text))
  let began = first - 1
  let done = first - 1
  child.on('message', (told: Told) => {
    assert.equal(told.failed, undefined, errors)
    began = told.began ?? began
    done = told.done ?? done
    // No wait for anything: where in the second apply it falls is left to chance.
    if (told.began === first + 1) setTimeout(() => child.kill('SIGKILL'), after)
  })
  const [code, signal] = await once(child, 'close')
  assert.equal(signal, 'SIGKILL', `it ended with ${code}: ${errors}`)
  return { began, done }
}

for (const { type, make, skip = false } of KINDS)
  test(`${type}: kill -9 in the middle of apply loses nothing acknowledged and halves nothing`, {
    skip,
  }, async (t) => {
    const storage = await make(t)
    const home = temporaryFolder(t)
    const folder = join(home, 'in')
    mkdirSync(folder)
    const settings = join(home, 'plantgw.yaml')
    writeFileSync(settings, JSON.stringify({ storage }))
    let generation = 0
    let inFlight = 0
    for (let round = 0; round < ROUNDS[type]; round++) {
      const { began, done } = await killed(t, settings, folder, generation + 1, round * 6)
      const store = await openStore(storage, {})
      const { configurations, findings } = await store.readAll()
      assert.deepEqual(findings, [])
      assert.deepEqual(
        configurations.map(({ name }) => name),
        NAMES,
      )
      const found = new Set(
        configurations.map(({ text }) => Number(/x-generation: (\d+)\n$/.exec(text)?.[1])),
      )
      assert.equal(found.size, 1, `half of an apply: ${[...found]}`)
      generation = [...found][0]!
      assert.ok(generation === done || generation === began, `${generation} is neither ${done} nor ${began}`)
      if (began > done) inFlight++
      if (type !== 'directory')
        for (const name of NAMES) {
          const [newest] = await store.history(of(name))
          assert.equal(newest?.message, String(generation))
        }
      await store.close()
    }
    assert.ok(inFlight > 0, 'no round came into the middle of an apply')
  })
