import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createAuthorize } from '../../src/access/permissions.ts'

const SECRET = [
  ...(
    'file:///secret/a file://localhost/secret/a file:secret/a file:/secret/a ' +
    'file:\\\\localhost\\secret\\a FILE:///secret/a file:///secret%2fa file:///public/../secret/a ' +
    'https://u@intranet.example/secret/a https://u:p@intranet.example/secret/a ' +
    'https:intranet.example/secret/a https:\\\\intranet.example\\secret\\a ' +
    'https://INTRANET.example/secret/a?x http://[::1]/secret/a http://[0:0:0:0:0:0:0:1]/secret/a ' +
    'http://127.0.0.1/secret/a http://127.1/secret/a http://0x7f.1:80/secret/a'
  ).split(' '),
  ...['', ':443', ':0443', ':', '.'].map((more) => `https://intranet.example${more}/secret/a`),
  'https://intranet。example/secret/a',
  ' https://intranet.example/secret/a',
  'https://intranet.exa\tmple/secret/a',
]
const OTHER = [
  ...(
    'file:///public/a file:///{path} https://example.com https://example.com/a?b=c#d ' +
    'https://Example.com:8443/a test://static/resource/1 github://repo/{owner}/{name} ' +
    'screen://localhost:8080/x ui://widget urn:isbn:1 mailto:a@b.example note'
  ).split(' '),
  'file:///public/a b/ü',
]

for (const more of ['', 'localhost'])
  test(`a rule means a resource, however it is spelled (file://${more}/)`, () => {
    const resources = [
      `file://${more}/secret/**`,
      `https://intranet.example${more && ':443'}/secret/**`,
      'http://[::1]/secret/**',
      'http://127.0.0.1/secret/**',
    ]
    const rules = [{ resources, callers: ['bob'] }]
    const authorize = createAuthorize([{ authorize: { default: 'allow', rules } }], [], () => '')
    const { allows } = authorize({ identity: undefined, path: '/p' })
    assert.deepEqual(
      SECRET.filter((uri) => allows('resources', uri)),
      [],
    )
    assert.deepEqual(
      OTHER.filter((uri) => !allows('resources', uri)),
      [],
    )
  })
