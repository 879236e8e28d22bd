import { mapped, type Steps } from '../text/index.ts'

/** Seconds, as the semantic conventions of MCP want them. */
export const BUCKETS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300]

/** Requests or sessions with the same attributes. */
export interface Cell {
  attributes: Record<string, string>
  /** How many were as quick as each bucket and not as quick as the one before; the last one holds the rest. */
  counts: number[]
  sum: number
}

interface Node extends Map<string | undefined, Node | Cell> {}

/**
 * A histogram of OpenTelemetry, which Prometheus reads too. It finds its cell by words: prom-client's own joins all
 * labels into a string for each observation, which takes 0.7 µs beside 0.1 µs here, 1.5 % of a proxied call.
 */
export class Durations {
  private readonly root: Node = new Map()
  readonly cells: Cell[] = []
  /** Of the last observation, which is nearly always as the one before. */
  private last: { values: readonly (string | undefined)[]; cell: Cell } | undefined

  /** @param name of OpenTelemetry, with dots, as are the names of the attributes */
  constructor(
    readonly name: string,
    readonly help: string,
    readonly attributes: readonly string[],
  ) {}

  /** As Prometheus names it. */
  get definition() {
    const { help } = this
    const labels = this.attributes.map(underscored)
    return { name: `${underscored(this.name)}_seconds`, help, type: 'histogram' as const, labels }
  }

  /** @param values of the attributes, in their order; undefined: there is none */
  observe(values: readonly (string | undefined)[], seconds: number): void {
    const cell = this.find(values)
    let i = 0
    while (i < BUCKETS.length && seconds > BUCKETS[i]!) i++
    cell.counts[i]!++
    cell.sum += seconds
  }

  private find(values: readonly (string | undefined)[]): Cell {
    const { last } = this
    if (last?.values.every((value, i) => value === values[i])) return last.cell
    const cell = this.lookUp(values)
    this.last = { values, cell }
    return cell
  }

  private lookUp(values: readonly (string | undefined)[]): Cell {
    const last = values.length - 1
    let node = this.root
    for (let i = 0; i < last; i++) {
      let next = node.get(values[i]) as Node | undefined
      if (!next) {
        next = new Map()
        node.set(values[i], next)
      }
      node = next
    }
    let cell = node.get(values[last]) as Cell | undefined
    if (!cell) {
      cell = this.cellOf(values)
      node.set(values[last], cell)
    }
    return cell
  }

  /** Adds what another process has counted. */
  add(cells: readonly Cell[]): void {
    for (const { attributes, counts, sum } of cells) {
      const values = this.attributes.map((name) => attributes[name])
      const cell = this.find(values)
      for (const [i, count] of counts.entries()) cell.counts[i]! += count
      cell.sum += sum
    }
  }

  private cellOf(values: readonly (string | undefined)[]): Cell {
    const attributes: Record<string, string> = {}
    for (const [i, name] of this.attributes.entries()) {
      const value = values[i]
      if (value !== undefined) attributes[name] = value
    }
    const cell = { attributes, counts: new Array<number>(BUCKETS.length + 1).fill(0), sum: 0 }
    this.cells.push(cell)
    return cell
  }

  /** In the text format of Prometheus 0.0.4: thousands of cells are hundreds of thousands of lines. */
  *text(): Steps<string> {
    const { name, help, type } = this.definition
    const cells = yield* mapped(this.cells, (cell) => cellText(name, cell))
    return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${cells.join('')}`
  }
}

function cellText(name: string, { attributes, counts, sum }: Cell): string {
  const labels = Object.entries(attributes)
    .map(([key, value]) => `,${underscored(key)}="${escaped(value)}"`)
    .join('')
  let text = ''
  let count = 0
  for (const [i, own] of counts.entries()) {
    count += own
    text += `${name}_bucket{le="${BUCKETS[i] ?? '+Inf'}"${labels}} ${count}\n`
  }
  const own = labels && `{${labels.slice(1)}}`
  return `${text}${name}_sum${own} ${sum}\n${name}_count${own} ${count}\n`
}

function escaped(label: string): string {
  return label.replace(/[\\"\n]/g, (char) => (char === '\n' ? '\\n' : `\\${char}`))
}

/** A name of OpenTelemetry as Prometheus writes it. */
function underscored(name: string): string {
  return name.replaceAll('.', '_')
}
