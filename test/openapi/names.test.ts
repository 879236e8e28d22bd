import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toolNames, type Unnamed } from '../../src/openapi/short-names.ts'
import { document, imported } from './imported.ts'

const one = (id: string | undefined, path = '/x', server = 'shop', method = 'GET'): Unnamed => ({
  id,
  method,
  path,
  server,
})

/** A server whose name leaves 30 characters. */
const SERVER = 'a-server-of-the-shop-with-a-name'
const shortOf = (...all: Unnamed[]) => toolNames(all).names

test('a name that fits behind that of its server is whole', () => {
  const id = 'list-selected-repositories-enabled-for-the-organization'
  assert.deepEqual(toolNames([one(id)]), { names: [id], shortened: 0 })
  assert.equal(shortOf(one('a'.repeat(24), '/x', 'b'.repeat(60)))[0], 'a'.repeat(24))
})

test('a longer one loses the words that say least', () => {
  const path = '/repositories/{workspace}/{repo_slug}/commit/{commit}/reports/{reportId}'
  const cases: [Unnamed, string][] = [
    // Parameters of the path but for the last.
    [one(undefined, path, 'shop-of-all-things'), 'get_repositories_commit_reports_by_reportId'],
    [
      one('updateCardsChecklistItemByIdCardByIdItem', '/cards/{idCard}/item/{idItem}', SERVER),
      'updateCardsChecklistItemIdItem',
    ],
    // What the name of the server says already.
    [
      one('actions_list-self-hosted-runner-groups', '/x', 'the-github-actions-of-all'),
      'list-self-hosted-runner-groups',
    ],
    // Fillers.
    [one('get-the-price-of-an-item-in-all-shops', '/x', SERVER), 'get-price-item-all-shops'],
    // Not those without which it would be another operation.
    [one('deleteCollectionNamespacedVolumeClaim', '/x', SERVER), 'deleteCollectionVolumeClaim'],
    // Abbreviations.
    [one('listOrganizationEnvironmentSettings', '/x', SERVER), 'listOrgEnvSettings'],
    // Words in the middle.
    [one('renderSomethingVeryUnusualWithinDistantPlaces', '/x', SERVER), 'renderWithinDistantPlaces'],
  ]
  for (const [operation, name] of cases) assert.equal(shortOf(operation)[0], name)
})

test('shorter names are unlike all others, and do not change with operations that are like none of them', () => {
  const long = ['One', 'Two', 'Three'].map((word) =>
    one(`getTheSettings${word}OfAllThingsOfTheShop`, '/x', SERVER),
  )
  const names = shortOf(...long)
  assert.equal(new Set(names).size, 3)
  for (const name of names) assert.doesNotMatch(name, /_[0-9a-f]{6}$/)
  assert.deepEqual(shortOf(one('first'), ...long, one('deleteEverything')).slice(1, 4), names)
  // A whole name keeps to itself what a shorter one would be.
  assert.equal(shortOf(long[0]!, one(names[0]!))[1], names[0])
})

test('the import counts names that a long title makes short', () => {
  const title = 'The remarkably long name of a shop'
  const operationId = 'getTheSettingsOfAllThingsOfTheWholeShop'
  const given = {
    ...document({ '/x': { get: { operationId, summary: 'Gets' } } }),
    info: { title, version: '1' },
  }
  const made = imported(given)
  assert.deepEqual(made.shortened, { tools: 1, name: 'remarkably-long-name-of-a-shop' })
  assert.ok(made.configurations[0]!.tools[0]!.length + made.configurations[0]!.name.length + 2 <= 64)
  assert.equal(imported(given, { name: 'shop' }).shortened, undefined)
})
