/** Lines of context around a change. */
const CONTEXT = 3
/** With more changed lines than these the shortest way is not looked for: all old lines go, all new ones come. */
const MAX_EDITS = 1000

interface Edit {
  kind: ' ' | '-' | '+'
  line: string
}

/** The difference of two texts in the unified format of diff(1); empty when they are equal. */
export function unifiedDiff(from: string, to: string, before: string, after: string): string {
  if (before === after) return ''
  const edits = editsOf(linesOf(before), linesOf(after))
  return `--- ${from}\n+++ ${to}\n${hunks(edits).join('')}`
}

/** Each with its line feed; the last one may have none. */
function linesOf(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? []
}

function editsOf(before: readonly string[], after: readonly string[]): Edit[] {
  let start = 0
  while (start < before.length && start < after.length && before[start] === after[start]) start++
  let end = 0
  const most = Math.min(before.length, after.length) - start
  while (end < most && before[before.length - 1 - end] === after[after.length - 1 - end]) end++
  const same = (line: string): Edit => ({ kind: ' ', line })
  return [
    ...before.slice(0, start).map(same),
    ...middle(before.slice(start, before.length - end), after.slice(start, after.length - end)),
    ...before.slice(before.length - end).map(same),
  ]
}

/** The shortest edits (Myers, "An O(ND) Difference Algorithm and Its Variations", 1986, figure 2). */
function middle(a: readonly string[], b: readonly string[]): Edit[] {
  const limit = Math.min(a.length + b.length, MAX_EDITS)
  const trace: Map<number, number>[] = []
  const furthest = new Map([[1, 0]])
  for (let d = 0; d <= limit; d++) {
    trace.push(new Map(furthest))
    for (let k = -d; k <= d; k += 2) {
      let x = isDown(furthest, k, d) ? furthest.get(k + 1)! : furthest.get(k - 1)! + 1
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x++
      furthest.set(k, x)
      if (x >= a.length && x - k >= b.length) return back(trace, a, b)
    }
  }
  return [...a.map((line): Edit => ({ kind: '-', line })), ...b.map((line): Edit => ({ kind: '+', line }))]
}

function isDown(furthest: ReadonlyMap<number, number>, k: number, d: number): boolean {
  return k === -d || (k !== d && furthest.get(k - 1)! < furthest.get(k + 1)!)
}

function back(trace: readonly Map<number, number>[], a: readonly string[], b: readonly string[]): Edit[] {
  const edits: Edit[] = []
  let x = a.length
  let y = b.length
  for (let d = trace.length - 1; d >= 0; d--) {
    const k = x - y
    const before = trace[d]!
    const from = isDown(before, k, d) ? k + 1 : k - 1
    const fromX = d === 0 ? 0 : before.get(from)!
    const fromY = d === 0 ? 0 : fromX - from
    while (x > fromX && y > fromY) {
      edits.push({ kind: ' ', line: a[--x]! })
      y--
    }
    if (x > fromX) edits.push({ kind: '-', line: a[--x]! })
    else if (y > fromY) edits.push({ kind: '+', line: b[--y]! })
  }
  return edits.reverse()
}

function hunks(edits: readonly Edit[]): string[] {
  const found: string[] = []
  let oldLine = 1
  let newLine = 1
  for (let at = 0; at < edits.length; ) {
    let change = at
    while (change < edits.length && edits[change]!.kind === ' ') change++
    if (change === edits.length) break
    const start = Math.max(at, change - CONTEXT)
    oldLine += start - at
    newLine += start - at
    let end = change
    for (let i = change; i < edits.length && i <= end + 2 * CONTEXT; i++) if (edits[i]!.kind !== ' ') end = i
    end = Math.min(edits.length, end + 1 + CONTEXT)
    const part = edits.slice(start, end)
    const olds = part.filter(({ kind }) => kind !== '+').length
    const news = part.filter(({ kind }) => kind !== '-').length
    found.push(`@@ -${span(oldLine, olds)} +${span(newLine, news)} @@\n${part.map(print).join('')}`)
    oldLine += olds
    newLine += news
    at = end
  }
  return found
}

/** A span without lines names the line before it. */
function span(line: number, count: number): string {
  return count === 1 ? `${line}` : `${count === 0 ? line - 1 : line},${count}`
}

function print({ kind, line }: Edit): string {
  return line.endsWith('\n') ? `${kind}${line}` : `${kind}${line}\n\\ No newline at end of file\n`
}
