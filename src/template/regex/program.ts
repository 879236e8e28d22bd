import { type Assertion, type CharTest, MAX_PROGRAM, RegexError, type RegexNode } from './parse.ts'

export type Instruction =
  | { op: 'set'; test: CharTest }
  | { op: 'split'; first: number; second: number }
  | { op: 'jump'; to: number }
  | { op: 'save'; slot: number }
  | { op: 'assert'; kind: Assertion }
  | { op: 'match' }

const LOOK = 'it looks ahead or behind at another place than right after `^` or right before `$`'

/**
 * The instructions of an expression, ended by `match`.
 * @throws RegexError for more than MAX_PROGRAM of them, and for look-around
 */
export function assemble(root: RegexNode): Instruction[] {
  const program: Instruction[] = []
  const push = (instruction: Instruction) => {
    if (program.length >= MAX_PROGRAM) throw new RegexError('size', 'expression too large')
    return program.push(instruction) - 1
  }
  /** Repetitions of nothing make no instructions, but take time. */
  let visited = 0
  function emit(node: RegexNode): void {
    if (++visited > 4 * MAX_PROGRAM) throw new RegexError('size', 'expression too large')
    switch (node.type) {
      case 'set':
        push({ op: 'set', test: node.test })
        return
      case 'assert':
        push({ op: 'assert', kind: node.kind })
        return
      case 'group':
        push({ op: 'save', slot: 2 * node.index })
        emit(node.node)
        push({ op: 'save', slot: 2 * node.index + 1 })
        return
      case 'list':
        node.nodes.forEach(emit)
        return
      case 'choice': {
        const jumps: number[] = []
        node.nodes.forEach((option, at) => {
          if (at === node.nodes.length - 1) {
            emit(option)
            return
          }
          const split = push({ op: 'split', first: program.length + 1, second: 0 })
          emit(option)
          jumps.push(push({ op: 'jump', to: 0 }))
          ;(program[split] as { second: number }).second = program.length
        })
        for (const jump of jumps) program[jump] = { op: 'jump', to: program.length }
        return
      }
      case 'look':
        throw new RegexError('look-around', LOOK)
      case 'repeat':
        repeat(node)
    }
  }
  function optional(greedy: boolean, body: () => void): void {
    const split = push({ op: 'jump', to: 0 })
    body()
    const [inside, behind] = [split + 1, program.length]
    program[split] = { op: 'split', first: greedy ? inside : behind, second: greedy ? behind : inside }
  }
  function repeat({ node, min, max, greedy }: Extract<RegexNode, { type: 'repeat' }>): void {
    for (let count = 0; count < min; count++) emit(node)
    if (max === Number.POSITIVE_INFINITY) {
      const start = program.length
      optional(greedy, () => {
        emit(node)
        push({ op: 'jump', to: start })
      })
      return
    }
    const nested = (left: number): void => {
      if (left > 0) {
        optional(greedy, () => {
          emit(node)
          nested(left - 1)
        })
      }
    }
    nested(max - min)
  }
  push({ op: 'save', slot: 0 })
  emit(root)
  push({ op: 'save', slot: 1 })
  push({ op: 'match' })
  return program
}
