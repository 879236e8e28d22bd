import { compileCall } from './call.ts'
import { execFault } from './errors.ts'
import { CONSTANT, constantText, type Flow, member, TAINTED } from './flow.ts'
import { Struct } from './kinds.ts'
import type { CommandNode, Constant, Operand, PipeNode, Span } from './nodes.ts'
import { overflowsInt } from './number.ts'
import type { Eval, State } from './state.ts'
import type { Roots } from './types.ts'
import { declare, refer, slotOf, type Unit, widen } from './unit.ts'
import { field } from './values.ts'

/** An expression that can be evaluated, and what is known of its value. */
export interface Compiled {
  run: Eval
  flow: Flow
}

/** A pipeline without its declarations; its value is never nil: that is missing. */
export function compilePipeline(pipe: PipeNode, unit: Unit): Compiled {
  let value: Compiled | undefined
  for (const command of pipe.commands) value = compileCommand(command, value, unit)
  if (!value) return { run: () => undefined, flow: CONSTANT }
  const { run, flow } = value
  return {
    run: (state, dot) => {
      const result = run(state, dot)
      return result === null ? undefined : result
    },
    flow,
  }
}

/** A pipeline that also declares or assigns its variables. */
export function compilePipe(pipe: PipeNode, unit: Unit): Compiled {
  const { run, flow } = compilePipeline(pipe, unit)
  const [variable] = pipe.declarations
  if (!variable) return { run, flow }
  if (!pipe.assign) {
    const slot = declare(unit, variable.name, flow)
    return { run: (state, dot) => (state.vars[slot] = run(state, dot)), flow }
  }
  const slot = slotOf(unit, variable.name)
  if (slot === undefined) return failing(variable, `undefined variable: ${variable.name}`)
  widen(unit, slot, flow)
  return { run: (state, dot) => (state.vars[slot] = run(state, dot)), flow }
}

/** An expression that fails whenever it is evaluated. */
export function failing(span: Span, message: string, hint?: string): Compiled {
  return {
    run: () => {
      throw execFault(message, span, hint)
    },
    flow: TAINTED,
  }
}

/** A mistake that shows before rendering: Go finds it while executing, the dialect at once. */
export function mistake(unit: Unit, span: Span, message: string, hint?: string): Compiled {
  if (!unit.go) unit.sink.add('parse', span, message, hint)
  return failing(span, message, hint)
}

function compileCommand(command: CommandNode, final: Compiled | undefined, unit: Unit): Compiled {
  const compiled = compileWord(command, final, unit)
  if (!final || command.operands[0]!.type === 'identifier') return compiled
  // What comes through the pipe is evaluated even where nothing takes it.
  const { run } = compiled
  return {
    run: (state, dot) => {
      final.run(state, dot)
      return run(state, dot)
    },
    flow: compiled.flow,
  }
}

function compileWord(command: CommandNode, final: Compiled | undefined, unit: Unit): Compiled {
  const [first, ...args] = command.operands as [Operand, ...Operand[]]
  const hasArgs = args.length > 0 || final !== undefined
  switch (first.type) {
    case 'identifier':
      return compileCall(first, args, final, unit, command)
    case 'field':
      return compileField(first.path, first, hasArgs, unit)
    case 'chain':
      return compileChain(first.node, first.path, first, hasArgs, unit)
    case 'variable':
      if (first.path.length === 0 && hasArgs) return notAFunction(first, unit)
      return compileVariable(first.name, first.path, first, hasArgs, unit)
    case 'nil':
      if (hasArgs) return notAFunction(first, unit)
      return mistake(unit, first, 'nil is not a command')
    default:
      return hasArgs ? notAFunction(first, unit) : compileOperand(first, unit)
  }
}

function notAFunction(span: Span, unit: Unit): Compiled {
  return mistake(
    unit,
    span,
    "can't give argument to non-function",
    'the first word of a command is a function',
  )
}

/** An operand as the argument of a function. */
export function compileOperand(node: Operand, unit: Unit): Compiled {
  switch (node.type) {
    case 'dot':
      refer(unit, unit.dot, node)
      return { run: (_, dot) => dot, flow: unit.dot }
    case 'nil':
      return { run: () => null, flow: CONSTANT }
    case 'field':
      return compileField(node.path, node, false, unit)
    case 'variable':
      return compileVariable(node.name, node.path, node, false, unit)
    case 'identifier':
      return compileCall(node, [], undefined, unit, node)
    case 'chain':
      return compileChain(node.node, node.path, node, false, unit)
    case 'pipe':
      return compilePipe(node, unit)
    default:
      return compileConstant(node.value, node)
  }
}

function compileConstant(value: Constant, span: Span): Compiled {
  if (typeof value === 'bigint' && overflowsInt(value)) return failing(span, `${value} overflows int`)
  return { run: () => value, flow: typeof value === 'string' ? constantText(value) : CONSTANT }
}

function compileField(path: readonly string[], span: Span, hasArgs: boolean, unit: Unit): Compiled {
  const flow = member(unit.dot, path, unit.trusted)
  refer(unit, flow, span)
  const { go } = unit
  if (unit.dotIsRoot) {
    const quick = rootField(path, hasArgs, unit)
    if (quick) return { run: quick, flow }
  }
  if (path.length === 1) {
    const name = path[0]!
    return { run: (_, dot) => field(dot, name, hasArgs, go, span), flow }
  }
  return { run: (_, dot) => walk(dot, path, hasArgs, go, span), flow }
}

/** Follows a path from a root that is an open map, or from fields of a closed one that are open. */
function rootField(path: readonly string[], hasArgs: boolean, unit: Unit): Eval | undefined {
  const top: Roots[string] | undefined = unit.roots
    ? Object.hasOwn(unit.roots, path[0]!)
      ? unit.roots[path[0]!]
      : undefined
    : true
  if (top !== true || hasArgs || path.length !== 2 || unit.go) return undefined
  const [first, second] = path as [string, string]
  return (state: State) => {
    const root =
      state.root instanceof Struct ? state.root.data : (state.root as Record<string, unknown> | undefined)
    if (typeof root !== 'object' || root === null || !Object.hasOwn(root, first)) return undefined
    const map = root[first]
    if (typeof map === 'object' && map !== null && Object.getPrototypeOf(map) === Object.prototype) {
      return Object.hasOwn(map, second) ? (map as Record<string, unknown>)[second] : undefined
    }
    return field(map, second, false, false, state.at)
  }
}

function walk(value: unknown, path: readonly string[], hasArgs: boolean, go: boolean, span: Span): unknown {
  const last = path.length - 1
  let current = value
  for (let at = 0; at <= last; at++) current = field(current, path[at]!, hasArgs && at === last, go, span)
  return current
}

function compileVariable(
  name: string,
  path: readonly string[],
  span: Span,
  hasArgs: boolean,
  unit: Unit,
): Compiled {
  const slot = slotOf(unit, name)
  if (slot === undefined) return mistake(unit, span, `undefined variable: ${name}`)
  const base = unit.flows[slot]!
  const flow = path.length === 0 ? base : member(base, path, unit.trusted)
  refer(unit, flow, span)
  const { go } = unit
  if (path.length === 0) return { run: (state) => state.vars[slot], flow }
  if (slot === 0 && unit.dollarIsRoot && !unit.dollarChanges) {
    const quick = rootField(path, hasArgs, unit)
    if (quick) return { run: quick, flow }
  }
  if (path.length === 1) {
    const key = path[0]!
    return { run: (state) => field(state.vars[slot], key, hasArgs, go, span), flow }
  }
  return { run: (state) => walk(state.vars[slot], path, hasArgs, go, span), flow }
}

function compileChain(
  node: Operand,
  path: readonly string[],
  span: Span,
  hasArgs: boolean,
  unit: Unit,
): Compiled {
  if (node.type === 'nil') return mistake(unit, span, 'indirection through explicit nil')
  const base = compileOperand(node, unit)
  const { go } = unit
  const { run } = base
  const flow = member(base.flow, path, unit.trusted)
  refer(unit, flow, span)
  return { run: (state, dot) => walk(run(state, dot), path, hasArgs, go, span), flow }
}
