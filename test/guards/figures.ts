// `npm run house`: the figures of `src` for each room, its long functions and its circles.
import { circles, imports, longFunctions, parseSource, sourceFiles } from './house.ts'

const sources = sourceFiles().map(parseSource)
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
