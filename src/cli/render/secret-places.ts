import {
  type CommandNode,
  type Node,
  type Operand,
  type PipeNode,
  parse,
  type Tree,
} from '../../template/index.ts'
import { isSecretHeader, isSecretName } from '../../text/index.ts'
import { SHOWN } from './masks.ts'

/** Where a template's dot and `$` stand. */
interface Scope {
  /** The dot is the root. */
  atRoot: boolean
  /** The dot is, or holds, a secret. */
  dot: boolean
}

interface Found {
  /** Actions that print what comes of a secret, in order. */
  places: Set<Extract<Node, { type: 'action' }>>
  variables: Set<string>
  /** Definitions that are called with something else than the root. */
  definitions: Map<string, boolean>
}

/** Whether the template prints anything that comes of a secret; `config` holds the names of those of the server. */
export function readsSecret(source: string, config: ReadonlySet<string>): boolean {
  return source.includes('{{') && secretPlaces(parse(source).tree, config).size > 0
}

/**
 * The template with `***` wherever it would print what comes of a secret, also by functions, and would print
 * something there.
 */
export function withoutSecrets(source: string, config: ReadonlySet<string>): string {
  if (!source.includes('{{')) return source
  let text = source
  const places = [...secretPlaces(parse(source).tree, config)].sort((a, b) => b.start - a.start)
  for (const { start, end } of places) {
    const [, open, inner, close] = /^(\{\{(?:-\s)?)(.*?)((?:\s-)?\}\})$/s.exec(text.slice(start, end)) ?? []
    if (inner === undefined) continue
    text = `${text.slice(0, start)}${open}if ${inner}}}${SHOWN}{{end${close}${text.slice(end)}`
  }
  return text
}

function secretPlaces(tree: Tree, config: ReadonlySet<string>): Found['places'] {
  const found: Found = { places: new Set(), variables: new Set(), definitions: new Map() }
  for (let before = -1; before !== sizeOf(found); ) {
    before = sizeOf(found)
    inList(tree.root, { atRoot: true, dot: false }, found, config)
    for (const [name, secret] of found.definitions)
      inList(tree.definitions.get(name) ?? [], { atRoot: !secret, dot: secret }, found, config)
  }
  return found.places
}

function sizeOf({ places, variables, definitions }: Found): number {
  return places.size + variables.size + [...definitions.values()].filter(Boolean).length + definitions.size
}

function inList(nodes: readonly Node[], scope: Scope, found: Found, config: ReadonlySet<string>): void {
  const secret = (pipe: PipeNode) => isSecret(pipe, scope, found, config)
  for (const node of nodes) {
    if (node.type === 'text' || !('pipe' in node) || !node.pipe) continue
    const { pipe } = node
    const isOne = secret(pipe)
    if (isOne) for (const { name } of pipe.declarations) found.variables.add(name)
    if (node.type === 'action') {
      if (isOne && pipe.declarations.length === 0) found.places.add(node)
    } else if (node.type === 'template') {
      const whole = isRoot(pipe, scope)
      const known = found.definitions.get(node.name) ?? false
      found.definitions.set(node.name, known || (isOne && !whole))
    } else {
      const inner = node.type === 'if' ? scope : { atRoot: false, dot: isOne }
      inList(node.list, inner, found, config)
      inList(node.elseList ?? [], scope, found, config)
    }
  }
}

function isRoot({ commands }: PipeNode, { atRoot }: Scope): boolean {
  const [operand, ...more] = commands.length === 1 ? commands[0]!.operands : []
  if (!operand || more.length > 0) return false
  return atRoot && (operand.type === 'dot' || (operand.type === 'variable' && operand.name === '$'))
}

function isSecret({ commands }: PipeNode, scope: Scope, found: Found, config: ReadonlySet<string>): boolean {
  return commands.some((command) => isSecretCommand(command, scope, found, config))
}

function isSecretCommand(
  { operands }: CommandNode,
  scope: Scope,
  found: Found,
  config: ReadonlySet<string>,
): boolean {
  const [first, second, ...keys] = operands
  if (first?.type === 'identifier' && first.name === 'env')
    return second?.type !== 'string' || isSecretName(String(second.value))
  const of = (operand: Operand, more: readonly string[] = []) =>
    isSecretOperand(operand, more, scope, found, config)
  if (
    first?.type === 'identifier' &&
    first.name === 'index' &&
    second &&
    keys.every(({ type }) => type === 'string')
  )
    return of(
      second,
      keys.map((key) => (key.type === 'string' ? String(key.value) : '')),
    )
  return operands.some((operand) => of(operand))
}

function isSecretOperand(
  operand: Operand,
  more: readonly string[],
  scope: Scope,
  found: Found,
  config: ReadonlySet<string>,
): boolean {
  switch (operand.type) {
    case 'dot':
      return scope.atRoot ? isSecretPath(more, config) : scope.dot
    case 'field':
      return scope.atRoot ? isSecretPath([...operand.path, ...more], config) : scope.dot
    case 'variable':
      if (operand.name !== '$') return found.variables.has(operand.name)
      return isSecretPath([...operand.path, ...more], config)
    case 'chain':
      return isSecretOperand(operand.node, [], scope, found, config)
    case 'pipe':
      return isSecret(operand, scope, found, config)
    default:
      return false
  }
}

/** What lies below the root; a map as a whole holds its secrets too. */
function isSecretPath([root, name, header]: readonly string[], config: ReadonlySet<string>): boolean {
  if (root === undefined) return true
  if (root === 'Config') return name === undefined ? config.size > 0 : config.has(name)
  if (root !== 'Request') return false
  if (name === 'Headers') return header === undefined || isSecretHeader(header)
  return name === undefined || name === 'Cookies'
}
