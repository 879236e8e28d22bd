import assert from 'node:assert/strict'
import { test } from 'node:test'
import { secretsIn } from '../../src/checks/practice/index.ts'

/** Characters without a pattern, so that no file here holds what scanners take for a secret. */
function random(length: number, alphabet = `${upper}${upper.toLowerCase()}0123456789`): string {
  let state = 7
  return Array.from({ length }, () => {
    state = (state * 48_271) % 2_147_483_647
    return alphabet[state % alphabet.length]
  }).join('')
}
const upper = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'
const hex = '0123456789abcdef'
const digits = '0123456789'

const issued: [issuer: string, secret: string][] = [
  ['GitHub', `ghp_${random(36)}`],
  ['GitHub', `github_pat_${random(22)}_${random(59)}`],
  ['GitLab', `glpat-${random(20)}`],
  ['Slack', `xoxb-${random(12, digits)}-${random(24)}`],
  ['Slack', `xapp-1-A${random(10, upper)}-${random(13, digits)}-${random(64, hex)}`],
  ['AWS', `AKIA${random(16, upper)}`],
  ['Google', `AIza${random(35)}`],
  ['Google', `GOCSPX-${random(28)}`],
  ['a model provider', `sk-ant-api03-${random(95)}`],
  ['a model provider', `gsk_${random(52)}`],
  ['Stripe', `sk_live_${random(24)}`],
  ['Stripe', `whsec_${random(32)}`],
  ['npm', `npm_${random(36)}`],
  ['PyPI', `pypi-AgEIcHlwaS5vcmc${random(60)}`],
  ['Docker', `dckr_pat_${random(27)}`],
  ['SendGrid', `SG.${random(22)}.${random(43)}`],
  ['Hugging Face', `hf_${random(34)}`],
  ['Twilio', `SK${random(32, hex)}`],
  ['DigitalOcean', `dop_v1_${random(64, hex)}`],
  ['Shopify', `shpat_${random(32, hex)}`],
  ['Telegram', `${random(10, digits)}:AA${random(33)}`],
  ['Atlassian', `ATATT3${random(180)}`],
  ['Linear', `lin_api_${random(40)}`],
  ['Notion', `ntn_${random(46)}`],
  ['Figma', `figd_${random(40)}`],
  ['Databricks', `dapi${random(32, hex)}`],
  ['Vault', `hvs.${random(90)}`],
  ['Grafana', `glsa_${random(32)}_${random(8, hex)}`],
  ['New Relic', `NRAK-${random(27, upper)}`],
  ['Terraform', `${random(14)}.atlasv1.${random(64)}`],
]

for (const [issuer, secret] of issued)
  test(`${secret.slice(0, 8)}… is a token of ${issuer}, whatever its key`, () => {
    const text = `name: user\nservers: [{name: user, config: {value: "${secret}"}}]\n`
    const found = secretsIn({ file: 'a.yaml', text })
    assert.deepEqual(
      found.map(({ code, message }) => [code, message]),
      [['literal-secret', `a token of ${issuer} looks like a secret written into the file`]],
    )
    const { start, end } = found[0]!.range!
    assert.ok(secret.endsWith(text.slice(start.offset, end.offset)))
    assert.equal(start.line, 2)
  })

test('a bearer token is found under any key, and a short one under a key that holds nothing else', () => {
  const text = `value: Bearer abc123def456ghi\napi_key: mash987mash987mash9\ntoken: mash987mash987\nPageKey: next-page-2024\n`
  const lines = secretsIn({ file: 'a.yaml', text }).map(({ range }) => range!.start.line)
  assert.deepEqual(lines, [1, 2, 3])
})

test('what stands for a secret in an example is none', () => {
  const text = [
    `a: ghp_${'x'.repeat(36)}`,
    'b: Bearer YOUR_TOKEN_12345',
    'api_key: <your key of 2024>',
    'token: ${TOKEN:demo-token-1234}',
    '# Bearer {{.Config.token}}',
    `glpat-${'0'.repeat(20)}`,
    // The key in the documentation of AWS.
    `c: AKIA${'IOSFODNN7EXAMPLE'}`,
    `d: AIza${'X'.repeat(5)}${random(30)}`,
    'e: postgres://test:test@localhost/db',
    'f: mysql://shop:change-me@localhost/db',
    'g: https://user:YOUR_PASSWORD@host/',
  ].join('\n')
  assert.deepEqual(secretsIn({ file: 'a.yaml', text }), [])
})
