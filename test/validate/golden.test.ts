import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { check } from '../../src/build/check-configurations.ts'
import { maskSecrets } from '../../src/checks/practice/leaked-secrets.ts'
import { applyIgnores, CODES, formatText } from '../../src/findings/index.ts'
import { goldenFiles } from '../support/golden.ts'

describe('what validate tells beyond reading and templates', () => {
  for (const { name, input, compare } of goldenFiles(new URL('./golden/', import.meta.url))) {
    test(name, async () => {
      const { findings, sources } = await check(['-'], {
        env: { SET: 'set-to-what-nobody-guesses' },
        stdin: () => Buffer.from(input),
        practice: { production: true },
      })
      const told = applyIgnores(findings, sources, { ran: () => true })
      compare(formatText(told, new Map([['-', maskSecrets(sources.get('-')!, findings)]]), { color: false }))
      const code = name.replace('.golden.yaml', '')
      if (code in CODES) assert.ok(told.some((one) => one.code === code))
    })
  }
})
