import type { CommandNode, Operand, RenderError, Tree } from '../../template/index.ts'
import type { Args } from '../subjects.ts'
import { schemaAt } from './body.ts'
import { eachPipe } from './nodes.ts'
import type { Ref } from './walk.ts'

/**
 * Whether a rendering that failed with samples fails with every value that a call may give: it was the type of a
 * value that did not fit, and that type is declared. What a function made of a value may be of any type.
 */
export function neverFits(error: RenderError, tree: Tree, refs: readonly Ref[], args: Args): boolean {
  if (!error.ofType) return false
  const commands = commandsAt(tree, error)
  if (!commands) return false
  const operands = commands.flatMap((command, i) => inputs(command, i === commands.length - 1))
  return (
    operands.every((one) => isConstant(one) || isDeclared(one, refs, args)) &&
    operands.some((one) => !isConstant(one))
  )
}

/** What the last command is given; those before it in the pipeline must be plain values. */
function inputs({ operands }: CommandNode, last: boolean): readonly Operand[] {
  return last && operands[0]?.type === 'identifier' ? operands.slice(1) : operands
}

function isConstant({ type }: Operand): boolean {
  return type === 'string' || type === 'number' || type === 'bool'
}

function isDeclared({ type, start, end }: Operand, refs: readonly Ref[], args: Args): boolean {
  if (type !== 'field' && type !== 'variable' && type !== 'dot') return false
  const here = refs.filter((ref) => ref.start === start && ref.end === end)
  return here.length > 0 && here.every(({ path }) => hasType(path, args))
}

/** Of a field that a declared scalar does not have, the scalar counts; a free object may have any. */
function hasType(path: readonly string[], args: Args): boolean {
  if (path[0] === 'Config' || (path[0] === 'Request' && path[1] === 'Headers')) return path.length > 1
  if (path[0] !== 'Args') return false
  let found = false
  for (let length = 2; length <= path.length; length++) {
    const schema = schemaAt(args, path.slice(0, length))
    if (!schema) break
    const below = path[length]
    if (typeof schema.type === 'string')
      found = below === undefined || (schema.type !== 'object' && below !== '*')
  }
  return found
}

/** The commands of a pipeline up to the innermost one in which the error is. */
function commandsAt(tree: Tree, { start, end }: RenderError): CommandNode[] | undefined {
  let found: CommandNode[] | undefined
  eachPipe(tree, (pipe, node) => {
    // A value that a `range` cannot go through is reported at the whole action, or at its pipeline.
    if (node.type === 'range' && node.pipe === pipe && (node.start === start || pipe.start === start))
      found = pipe.commands
    for (const [i, command] of pipe.commands.entries())
      if (command.start <= start && end <= command.end) found = pipe.commands.slice(0, i + 1)
  })
  return found
}
