import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { importOpenApi } from '../../src/openapi/index.ts'
import { sample } from '../support/rest.ts'
import { findings } from './imported.ts'

/** Words that documents and their readers trip over. */
const odd = fc.constantFrom(
  'id',
  'name',
  'a b',
  'x[y]',
  '$f',
  '',
  '__proto__',
  'constructor',
  'é',
  'a.b',
  '{{.Args.x}}',
  '${NAME}',
  '# x',
  'yes',
  '1',
  '- a',
  'it\'s "so"',
  '\n',
  '\u0000',
  '\ud800',
  'body',
  'url',
  'Content-Type',
  'token',
  'x'.repeat(90),
)
const text = fc.oneof({ weight: 3, arbitrary: odd }, fc.string({ maxLength: 12, unit: 'binary' }))
const scalar = fc.oneof(text, fc.integer(), fc.double(), fc.boolean(), fc.constant(null))
const ref = fc.constantFrom(
  '#/components/schemas/A',
  '#/components/schemas/B',
  '#/definitions/A',
  '#/nowhere',
  'other.json',
  '#',
)

const { schema } = fc.letrec<{ schema: unknown }>((tie) => ({
  schema: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom({}, true, false, null, 'x'),
    fc.record({ $ref: ref }),
    fc.record(
      {
        type: fc.oneof(
          fc.constantFrom(
            'string',
            'integer',
            'number',
            'boolean',
            'array',
            'object',
            'null',
            'file',
            'any',
            7,
          ),
          fc.uniqueArray(fc.constantFrom('string', 'integer', 'null', 'object', 'array'), { maxLength: 3 }),
        ),
        format: fc.constantFrom('int64', 'date-time', 'binary', 'byte', 'uri'),
        description: text,
        enum: fc.array(scalar, { maxLength: 3 }),
        default: scalar,
        nullable: fc.boolean(),
        readOnly: fc.boolean(),
        pattern: fc.constantFrom('^a$', '(', '(a+)+$', '(?i)x'),
        minimum: fc.oneof(fc.integer(), fc.double()),
        maximum: fc.integer(),
        exclusiveMinimum: fc.oneof(fc.boolean(), fc.integer()),
        minLength: fc.integer({ min: -1, max: 9 }),
        maxLength: fc.integer({ min: -1, max: 9 }),
        items: tie('schema'),
        properties: fc.dictionary(text, tie('schema'), { maxKeys: 3, noNullPrototype: true }),
        required: fc.array(text, { maxLength: 2 }),
        additionalProperties: fc.oneof(fc.boolean(), tie('schema')),
        allOf: fc.array(tie('schema'), { maxLength: 2 }),
        anyOf: fc.array(tie('schema'), { maxLength: 3 }),
        oneOf: fc.array(tie('schema'), { maxLength: 2 }),
      },
      { requiredKeys: [], noNullPrototype: true },
    ),
  ),
}))

const style = fc.constantFrom(
  'form',
  'simple',
  'label',
  'matrix',
  'deepObject',
  'spaceDelimited',
  'pipeDelimited',
  'nosuch',
)
const parameter = fc.oneof(
  {
    weight: 9,
    arbitrary: fc.record(
      {
        name: text,
        in: fc.constantFrom('query', 'path', 'header', 'cookie', 'body', 'formData', 'nowhere'),
        required: fc.boolean(),
        description: text,
        example: fc.jsonValue(),
        schema,
        type: fc.constantFrom('string', 'array', 'file'),
        items: schema,
        style,
        explode: fc.boolean(),
        collectionFormat: fc.constantFrom('csv', 'ssv', 'tsv', 'pipes', 'multi', 'x'),
        content: fc.dictionary(
          fc.constantFrom('application/json', 'text/xml'),
          fc.record({ schema }, { noNullPrototype: true }),
          { maxKeys: 1, noNullPrototype: true },
        ),
      },
      { requiredKeys: ['name', 'in'], noNullPrototype: true },
    ),
  },
  fc.record({ $ref: ref }, { noNullPrototype: true }),
)
const media = fc.record(
  {
    schema,
    example: fc.jsonValue(),
    encoding: fc.dictionary(
      text,
      fc.record({ style, explode: fc.boolean(), contentType: text }, { requiredKeys: [] }),
      { maxKeys: 2, noNullPrototype: true },
    ),
  },
  { requiredKeys: [], noNullPrototype: true },
)
const types = fc.constantFrom(
  'application/json',
  'application/x-www-form-urlencoded',
  'multipart/form-data',
  'text/plain',
  'application/xml',
  '*/*',
  'application/x+json; charset=utf-8',
)
const security = fc.array(
  fc.dictionary(fc.constantFrom('a', 'b', 'c', 'no'), fc.constant([]), { maxKeys: 2, noNullPrototype: true }),
  { maxLength: 2 },
)
const operation = fc.record(
  {
    operationId: text,
    summary: text,
    description: text,
    tags: fc.array(text, { maxLength: 2 }),
    deprecated: fc.boolean(),
    parameters: fc.array(parameter, { maxLength: 4 }),
    requestBody: fc.record(
      { required: fc.boolean(), content: fc.dictionary(types, media, { maxKeys: 2, noNullPrototype: true }) },
      { noNullPrototype: true },
    ),
    responses: fc.dictionary(
      fc.constantFrom('200', '201', '204', '2XX', '400', 'default'),
      fc.oneof(
        fc.record({ $ref: ref }),
        fc.record(
          { schema, content: fc.dictionary(types, media, { maxKeys: 2, noNullPrototype: true }) },
          { requiredKeys: [], noNullPrototype: true },
        ),
      ),
      { maxKeys: 2, noNullPrototype: true },
    ),
    consumes: fc.array(types, { maxLength: 2 }),
    produces: fc.array(types, { maxLength: 2 }),
    security,
    servers: fc.array(
      fc.record({ url: fc.oneof(text, fc.constantFrom('http://api.shop.com', '/v1', 'https://{a}.x')) }),
      { maxLength: 1 },
    ),
  },
  { requiredKeys: [], noNullPrototype: true },
)
const method = fc.constantFrom('get', 'post', 'put', 'delete', 'patch', 'head', 'trace', 'parameters', 'x-a')
const path = fc
  .array(
    fc.oneof(
      fc.constantFrom('/a', '/{id}', '/{a b}', '/{x}:y', '/{{z}}', '/..', '?q=1', '#f'),
      text.map((one) => `/${one}`),
    ),
    { maxLength: 3 },
  )
  .map((parts) => parts.join(''))
const scheme = fc.record(
  {
    type: fc.constantFrom('http', 'apiKey', 'oauth2', 'basic', 'x'),
    scheme: fc.constantFrom('bearer', 'basic', 'digest'),
    in: fc.constantFrom('header', 'query', 'cookie', 'x'),
    name: text,
  },
  { requiredKeys: ['type'], noNullPrototype: true },
)
const document = fc.record(
  {
    version: fc.constantFrom({ swagger: '2.0' }, { openapi: '3.0.3' }, { openapi: '3.1.0' }),
    title: text,
    paths: fc.dictionary(path, fc.dictionary(method, operation, { maxKeys: 2, noNullPrototype: true }), {
      minKeys: 1,
      maxKeys: 3,
      noNullPrototype: true,
    }),
    schemas: fc.record({ A: schema, B: schema }, { noNullPrototype: true }),
    schemes: fc.record({ a: scheme, b: scheme, c: scheme }, { noNullPrototype: true }),
    host: fc.constantFrom('x.example.com', 'localhost:1', 'a b', ''),
  },
  { noNullPrototype: true },
)

test('every document comes to configurations without any finding', async () => {
  let made = 0
  await fc.assert(
    fc.asyncProperty(document, async ({ version, title, paths, schemas, schemes, host }) => {
      const text = JSON.stringify({
        ...version,
        info: { title },
        host,
        paths,
        components: { schemas, securitySchemes: schemes },
        definitions: schemas,
        securityDefinitions: schemes,
        security: [{ a: [] }],
        tags: [{ name: 'x', 'x-displayName': title }, { name: title, description: title }, title],
      })
      const result = importOpenApi({ file: 'any.json', text })
      assert.ok(result.fault === undefined && !result.findings)
      assert.equal(result.operations, result.imported + result.skipped.length + result.notSelected)
      assert.deepEqual(await findings(result), [], result.configurations[0]?.text)
      made += result.imported
    }),
    { numRuns: sample(300) },
  )
  assert.ok(made > 0)
})

test('any JSON at all is answered, never thrown at', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.json(),
        fc.string(),
        fc.jsonValue().map((paths) => JSON.stringify({ openapi: '3.0.0', paths })),
      ),
      (text) => {
        importOpenApi({ file: 'any', text })
      },
    ),
  )
})
