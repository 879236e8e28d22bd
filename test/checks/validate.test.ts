import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { check } from '../../src/build/check-configurations.ts'

const folder = new URL('./golden/', import.meta.url)
/** What the golden files leave out. */
const OF_ROUTERS = ['no-router', 'unrouted-server']

describe('validate tells every mistake of a golden file once, and no other', () => {
  for (const name of readdirSync(folder).sort()) {
    test(name, async () => {
      const [input, expected] = readFileSync(new URL(name, folder), 'utf8').split('# ---- expected\n')
      const stdin = () => Buffer.from(input!)
      const { findings } = await check(['-'], { env: { SET: 'set' }, stdin })
      const told = findings
        .filter(({ code }) => !OF_ROUTERS.includes(code))
        .map(({ code, range, message }) => `${range?.start.line}:${range?.start.column} ${message} [${code}]`)
      const lines = expected!.matchAll(/^a\.yaml:(\d+:\d+): \w+: (.* \[[\w-]+\])$/gm)
      assert.deepEqual(
        told,
        [...lines].map(([, at, text]) => `${at} ${text}`),
      )
    })
  }
})
