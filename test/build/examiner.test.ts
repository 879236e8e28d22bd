import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createExaminer } from '../../src/build/examiner.ts'
import { DEFAULT_LIMITS } from '../../src/config/index.ts'

const SOUND = (i: number) => `name: s-${i}
routers: [{server: s, prefix: /s-${i}}]
servers: [{name: s}]
tools: [{name: get, description: Gets, method: GET, endpoint: "https://example.com/${i}"}]
`

test('what many files come to is in their order, whoever has examined them', async (t) => {
  const examiner = createExaminer({ env: {}, rules: {}, limits: DEFAULT_LIMITS })
  t.after(() => examiner.close())
  const sources = Array.from({ length: 230 }, (_, i) => ({
    file: `${i}.yaml`,
    text: i % 7 === 3 ? `nam: s-${i}\n` : SOUND(i),
  }))
  const [none, first, all] = await Promise.all([
    examiner.examine([]),
    examiner.examine(sources.slice(0, 60)),
    examiner.examine(sources),
  ])
  assert.deepEqual([none, all.slice(0, 60)], [[], first])
  for (const [i, examined] of all.entries()) {
    if (i % 7 === 3) assert.equal(examined, undefined)
    else assert.equal(JSON.parse(examined!.rest).name, `s-${i}`)
  }
})

test('what a thread has is examined by others when it ends', async () => {
  const examiner = createExaminer({ env: {}, rules: {}, limits: DEFAULT_LIMITS })
  const sources = Array.from({ length: 200 }, (_, i) => ({ file: `${i}.yaml`, text: SOUND(i) }))
  const examining = examiner.examine(sources)
  examiner.close()
  for (const [i, examined] of (await examining).entries())
    assert.equal(JSON.parse(examined!.rest).name, `s-${i}`)
})
