// `npm run house`: the figures of `src` for each room, its long functions, circles and bounds, and the keys of the schemas.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../support/process.ts'
import { circles, imports, longFunctions, parseSource, sourceFiles } from './house.ts'

/** Without what `npm run docs` makes of the schemas. */
const sources = sourceFiles()
  .map(parseSource)
  .filter(({ fileName }) => fileName !== 'config/generated.ts')
const rooms = new Map<string, { files: number; lines: number }>()
for (const source of sources) {
  const room = source.fileName.includes('/') ? (source.fileName.split('/')[0] as string) : '.'
  for (const key of [room, 'all']) {
    const row = rooms.get(key) ?? { files: 0, lines: 0 }
    row.files++
    row.lines += source.text.split('\n').length - 1
    rooms.set(key, row)
  }
}
console.table(Object.fromEntries(rooms))
const long = longFunctions(sources, 80)
console.log(`\nFunctions over 80 lines: ${long.length}`)
for (const { name, lines } of long) console.log(`  ${lines} ${name}`)
const found = circles(imports(sources))
console.log(`\nCircles at run time: ${found.length}; with types: ${circles(imports(sources, true)).length}`)
for (const members of found) console.log(`  ${members.join(' ')}`)

const BOUND =
  /\bconst (?:[A-Z0-9]+_)*(?:MAX|LONGEST|LIMIT|TIMEOUT|PATIENCE|TIME|INTERVAL)S?(?:_[A-Z0-9]+)*\b/g
console.log(
  `Constants that bound something: ${sources.flatMap(({ text }) => text.match(BOUND) ?? []).length}`,
)
/** Without what examples and conditions repeat. */
const keysOf = (node: unknown): number =>
  Object.entries(node instanceof Object ? node : {}).reduce((sum, [key, inner]) => {
    if (key === 'examples' || key === 'if') return sum
    const nodes = key === 'properties' ? Object.values(inner) : []
    return sum + (nodes.length ? nodes.reduce((all: number, one) => all + 1 + keysOf(one), 0) : keysOf(inner))
  }, 0)
const schemas = readdirSync(join(ROOT, 'schemas')).filter((name) => name.endsWith('.schema.json'))
const keys = schemas.map((name) => keysOf(JSON.parse(readFileSync(join(ROOT, 'schemas', name), 'utf8'))))
console.log(`Keys of the schemas: ${keys.reduce((sum, one) => sum + one, 0)}`)
