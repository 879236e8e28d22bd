import { execFault } from '../errors.ts'
import { compareBytes } from '../fmt/bytes.ts'
import type { Host } from '../types.ts'
import { isMissing, truth, typedList } from '../values.ts'
import { deepEqual, toInt, toList, toTexts } from './convert.ts'
import { checkLength, define, type FunctionEntry, twins } from './define.ts'

const onList = (name: string, doc: string, change: (list: readonly unknown[], host: Host) => unknown) =>
  twins(name, 'list:any', doc, ([list], host) => change(toList(list, host, name), host))

export const lists: readonly FunctionEntry[] = [
  define('list|tuple items:any...', 'An array of the arguments', (items) => items.slice()),
  onList('first', 'The first item', (list) => list[0] ?? null),
  onList('last', 'The last item', (list) => list[list.length - 1] ?? null),
  onList('rest', 'All but the first item', (list) => list.slice(1)),
  onList('initial', 'All but the last item', (list) => list.slice(0, -1)),
  onList('reverse', 'The items in reverse order', (list) => list.slice().reverse()),
  onList('compact', 'Without empty items', (list, host) => {
    host.charge(list.length >> 1)
    return list.filter(truth)
  }),
  onList('uniq', 'Without repeated items', (list, host) => {
    const found: unknown[] = []
    for (const value of list) if (!includes(found, value, host)) found.push(value)
    return found
  }),
  ['append', 'push'].map((name) =>
    twins(name, 'list:any item:any', 'The array with one more item at the end', ([list, value], host) => [
      ...toList(list, host, name),
      value,
    ]),
  ),
  twins(
    'prepend',
    'list:any item:any',
    'The array with one more item at the start',
    ([list, value], host) => [value, ...toList(list, host, 'prepend')],
  ),
  twins('without', 'list:any items:any...', 'Without these items', ([list, ...omit], host) =>
    toList(list, host, 'without').filter((value) => !includes(omit, value, host)),
  ),
  twins('has', 'item:any list:any', 'True if the array contains the item', ([value, list], host) =>
    isMissing(list) ? false : includes(toList(list, host, 'has'), value, host),
  ),
  twins(
    'slice',
    'list:any from:any...',
    'The items (or bytes of a string) from one position up to another',
    sliced,
  ),
  twins('chunk', 'size:int list:any', 'Arrays of this many items', ([size, list], host) =>
    chunk(Number(size), toList(list, host, 'chunk'), host),
  ),
  define('concat lists:any...', 'The items of all arrays', (all, host) => {
    const size = all.reduce<number>((sum, list) => sum + toList(list, host, 'concat').length, 0)
    host.charge(size)
    checkLength(size, host, 'list')
    return all.flatMap((list) => toList(list, host, 'concat'))
  }),
  define('sortAlpha list:any', 'The items as strings, sorted', ([list], host) => {
    const texts = toTexts(list, host)
    const units = texts.reduce((sum, text) => sum + 64 + text.length, 0)
    host.charge((units >> 6) * Math.ceil(Math.log2(texts.length + 1)))
    return typedList('[]string', texts.sort(compareBytes))
  }),
  define('until count:int', 'The integers from 0 up to count', ([count], host) =>
    series(0n, count, count < 0n ? -1n : 1n, host),
  ),
  define(
    'untilStep from:int to:int step:int',
    'The integers from one up to another',
    ([from, to, step], host) => series(from, to, step, host),
  ),
  define('seq numbers:int...', 'Integers as a string, like the output of the command seq', sequence),
].flat(2)

function includes(list: readonly unknown[], value: unknown, host: Host): boolean {
  return list.some((other) => deepEqual(value, other, host))
}

function sliced([list, ...bounds]: unknown[], host: Host): unknown {
  const value = typeof list === 'string' ? undefined : toList(list, host, 'slice')
  if (value === undefined) throw execFault('list should be type of slice or array but string')
  if (value.length === 0) return null
  const from = bounds.length > 0 ? Number(toInt(bounds[0])) : 0
  const to = bounds.length > 1 ? Number(toInt(bounds[1])) : value.length
  if (from < 0 || to < from || to > value.length) throw execFault('slice index out of bounds')
  return value.slice(from, to)
}

function chunk(size: number, list: readonly unknown[], host: Host): unknown[][] {
  if (size < 1) throw execFault('chunk size must be positive')
  host.charge(Math.trunc(list.length / size))
  const chunks: unknown[][] = []
  for (let at = 0; at < list.length; at += size) chunks.push(list.slice(at, at + size))
  return chunks
}

function series(from: bigint, to: bigint, step: bigint, host: Host): bigint[] {
  const numbers = typedList<bigint>('[]int', [])
  if (to < from ? step >= 0n : step <= 0n) return numbers
  const count = (to - from) / step
  host.charge(Number(count > 1_000_000_000n ? 1_000_000_000n : count))
  for (let at = from; step > 0n ? at < to : at > to; at += step) numbers.push(at)
  return numbers
}

function sequence(numbers: readonly bigint[], host: Host): string {
  const [a, b, c] = numbers
  if (a === undefined || numbers.length > 3) return ''
  const [from, step, to] =
    c !== undefined ? [a, b!, c] : b !== undefined ? [a, b < a ? -1n : 1n, b] : [1n, a < 1n ? -1n : 1n, a]
  if (to < from && step > 0n) return ''
  return series(from, to + (to < from ? -1n : 1n), step, host).join(' ')
}
