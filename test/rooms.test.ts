import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { test } from 'node:test'
import { ROOT } from './support/process.ts'

/** The rooms, highest first, from the table of CONTRIBUTING.md. */
const rooms = [...readFileSync(join(ROOT, 'CONTRIBUTING.md'), 'utf8').matchAll(/^\| `(\w+)\/` +\|/gm)].map(
  (match) => match[1] as string,
)
const src = join(ROOT, 'src')
const files = readdirSync(src, { recursive: true })
  .map(String)
  .filter((name) => /\.tsx?$/.test(name))

test('every folder of src is a room of CONTRIBUTING.md, and the other way round', () => {
  const folders = readdirSync(src, { withFileTypes: true }).filter((entry) => entry.isDirectory())
  assert.deepEqual(folders.map(({ name }) => name).sort(), [...rooms].sort())
})

test('imports only go down the list of rooms', () => {
  for (const file of files) {
    const room = rooms.indexOf(file.split('/')[0] as string)
    if (room < 0) continue
    for (const [, target] of readFileSync(join(src, file), 'utf8').matchAll(/from '(\.[^']+)'/g)) {
      const to = relative(src, join(src, dirname(file), target as string)).split('/')[0] as string
      assert.ok(to === '..' || rooms.indexOf(to) >= room, `${file} imports ${target}`)
    }
  }
})

test('folders of a room import only folders further on in its row of CONTRIBUTING.md', () => {
  const rows = readFileSync(join(ROOT, 'CONTRIBUTING.md'), 'utf8').matchAll(/^\| `(\w+)\/` +\|(.*)$/gm)
  for (const [, room, row] of rows) {
    const order = [...(row as string).matchAll(/`(\w+)\/`:/g)].map((match) => match[1] as string)
    const entries = readdirSync(join(src, room as string), { withFileTypes: true })
    const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name)
    if (order.length > 1) assert.deepEqual(folders.sort(), [...order].sort(), `folders of ${room}`)
    for (const folder of order)
      for (const name of readdirSync(join(src, room as string, folder))) {
        const text = readFileSync(join(src, room as string, folder, name), 'utf8')
        for (const [, other] of text.matchAll(/from '\.\.\/(\w+)\//g))
          if (order.includes(other as string))
            assert.ok(
              order.indexOf(other as string) > order.indexOf(folder),
              `${room}/${folder}/${name}: ${other}/`,
            )
      }
  }
})
