import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { check } from '../../src/build/check-configurations.ts'
import { CODES, type CodeInfo, checkOf, type FindingCode } from '../../src/findings/index.ts'

/** An example of the catalogue inside the least configuration that it needs. */
function wrap(text: string): string {
  const indent = (spaces: number) => text.replaceAll('\n', `\n${' '.repeat(spaces)}`)
  const servers = text.startsWith('servers:') ? '' : 'servers: [{name: user}]\n'
  const head = `name: user\n${servers}`
  const tool = '  - name: t\n    description: A tool\n    method: POST\n    endpoint: http://localhost/\n    '
  if (text.startsWith('cors:'))
    return `${head}routers:\n  - server: user\n    prefix: /user\n    ${indent(4)}\n`
  const routers = 'routers: [{server: user, prefix: /user}]\n'
  if (/^(?:args|inputSchema):/.test(text)) return `${head}${routers}tools:\n${tool}${indent(4)}\n`
  return `${head}${routers}${text}\n`
}

async function codes(text: string): Promise<string[]> {
  const stdin = () => Buffer.from(wrap(text))
  const { findings } = await check(['-'], { env: {}, stdin, practice: { production: true } })
  return findings.map(({ code }) => code)
}

describe('the examples of practice', () => {
  const all = Object.entries(CODES) as [FindingCode, CodeInfo][]
  for (const [code, { wrong, right }] of all.filter(
    ([one]) => checkOf(one) === 'practice' && one !== 'file-name',
  )) {
    if (wrong) test(`${code}: wrong`, async () => assert.ok((await codes(wrong)).includes(code)))
    if (right)
      test(`${code}: right`, async () =>
        assert.deepEqual(
          (await codes(right)).filter((one) => one === code),
          [],
        ))
  }
})
