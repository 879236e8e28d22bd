import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { CODES, type Finding, finding, formatGithub, formatSarif } from '../../src/findings/index.ts'

const range = (line: number, column: number, offset: number, length: number) => ({
  start: { line, column, offset },
  end: { line, column: column + length, offset: offset + length },
})
const first = finding('template-root', 'configs/a b.yaml', 'there is no `.Arg`', {
  range: range(3, 5, 40, 3),
  hint: 'Did you mean `.Args`?',
  fix: { range: range(3, 5, 40, 3), text: 'Args' },
})
const second: Finding = finding('template-raw', '-', 'one, two:\nthree 100%', {
  range: { start: { line: 1, column: 1, offset: 0 }, end: { line: 2, column: 1, offset: 9 } },
  related: [{ file: '/etc/x.yaml', message: 'the first one' }],
})
const third = finding('unreadable-file', 'a:b.yaml', 'there is no such file')

describe('SARIF 2.1.0', () => {
  const log = JSON.parse(formatSarif([first, second, third], '1.2.3'))
  const [run] = log.runs

  test('names the rules that occur, from the catalogue, and points each result at its rule', () => {
    assert.equal(log.version, '2.1.0')
    assert.equal(log.runs.length, 1)
    assert.deepEqual([run.tool.driver.name, run.tool.driver.version], ['plantgw', '1.2.3'])
    const ids = run.tool.driver.rules.map((rule: { id: string }) => rule.id)
    assert.deepEqual(ids.toSorted(), ['template-raw', 'template-root', 'unreadable-file'])
    for (const { ruleId, ruleIndex } of run.results) assert.equal(ids[ruleIndex], ruleId)
    const rule = run.tool.driver.rules[ids.indexOf('template-root')]
    assert.equal(rule.shortDescription.text, CODES['template-root'].title)
    assert.equal(rule.defaultConfiguration.level, 'error')
  })
  test('a result has its place in UTF-16 units, its cure and its fix', () => {
    assert.equal(run.columnKind, 'utf16CodeUnits')
    const region = { startLine: 3, startColumn: 5, endLine: 3, endColumn: 8, charOffset: 40, charLength: 3 }
    const artifactLocation = { uri: 'configs/a%20b.yaml' }
    assert.deepEqual(run.results[0], {
      ruleId: 'template-root',
      ruleIndex: run.results[0].ruleIndex,
      level: 'error',
      message: { text: 'there is no `.Arg`. Did you mean `.Args`?' },
      locations: [{ physicalLocation: { artifactLocation, region } }],
      fixes: [
        {
          artifactChanges: [
            {
              artifactLocation,
              replacements: [{ deletedRegion: region, insertedContent: { text: 'Args' } }],
            },
          ],
        },
      ],
    })
  })
  test('files are URIs: relative ones stay so, absolute ones are of the scheme file', () => {
    const uri = (location: { physicalLocation: { artifactLocation: { uri: string } } }) =>
      location.physicalLocation.artifactLocation.uri
    assert.equal(uri(run.results[1].relatedLocations[0]), 'file:///etc/x.yaml')
    assert.equal(uri(run.results[1].locations[0]), 'stdin')
    assert.equal(uri(run.results[2].locations[0]), 'a%3Ab.yaml')
    assert.equal(run.results[2].locations[0].physicalLocation.region, undefined)
  })
  test('nothing found is a run without results', () => {
    const [{ results, tool }] = JSON.parse(formatSarif([], '1.2.3')).runs
    assert.deepEqual([results, tool.driver.rules], [[], []])
  })
})

test('GitHub annotations are one line each, with what would end them escaped', () => {
  assert.equal(
    formatGithub([first, second, third]),
    [
      '::error file=configs/a b.yaml,line=3,endLine=3,col=5,endColumn=7,title=template-root::there is no `.Arg`%0ADid you mean `.Args`?',
      '::warning file=-,line=1,endLine=2,title=template-raw::one, two:%0Athree 100%25',
      '::error file=a%3Ab.yaml,title=unreadable-file::there is no such file',
      '',
    ].join('\n'),
  )
  assert.equal(formatGithub([]), '')
})
