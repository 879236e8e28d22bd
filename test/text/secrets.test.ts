import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isSecretHeader, isSecretName, isSecretParameter } from '../../src/text/index.ts'

test('names of secrets, and names that only look like them', () => {
  const names: [(name: string) => boolean, secret: string[], open: string[]][] = [
    [
      isSecretHeader,
      ['Authorization', 'Proxy-Authorization', 'Cookie', 'X-Auth', 'X-API-Key', 'X-CSRF-Token'],
      ['X-Author', 'X-Authority', 'Idempotency-Key', 'Accept', 'X-Session-Kind'],
    ],
    [isSecretParameter, ['key', 'api_key', 'sig', 'x-auth'], ['keyword', 'author', 'monkey', 'design']],
    [
      isSecretName,
      ['DB_PW', 'AUTHORIZATION', 'AUTH', 'API_TOKEN', 'passwd'],
      ['AUTHOR', 'AUTHORITY', 'DESIGN'],
    ],
  ]
  for (const [isSecret, secret, open] of names) {
    assert.deepEqual(secret.filter(isSecret), secret)
    assert.deepEqual(open.filter(isSecret), [])
  }
})
