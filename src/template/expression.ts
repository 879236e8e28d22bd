import { execFault, typeFault } from './errors.ts'
import type { Eval, State } from './exec.ts'
import { CONSTANT, constantText, type Flow, join, marksOf, member, someItem, TAINTED } from './flow.ts'
import { printDialect } from './fmt/print.ts'
import { overflowsInt } from './fmt/strconv.ts'
import {
  checkLength,
  type FunctionEntry,
  IMPURE,
  MAP_CHANGERS,
  MAP_MAKERS,
  type ParamType,
  stepsPerCall,
  unitsPerStep,
} from './funcs/define.ts'
import type { CommandNode, Constant, IdentifierNode, Operand, PipeNode, Span } from './node.ts'
import { declare, recordReference, type Unit, widen } from './unit.ts'
import { asMap, field, isMissing, isNumber, truth, typeName } from './values.ts'

/** A compiled expression, and what is known of its value. */
interface Compiled {
  run: Eval
  flow: Flow
}

/** A pipeline without declarations; a nil value becomes a missing one. */
export function compilePipeline(pipe: PipeNode, unit: Unit): Compiled {
  let value: Compiled | undefined
  for (const command of pipe.commands) value = compileCommand(command, value, unit)
  if (!value) return { run: () => undefined, flow: CONSTANT }
  const { run, flow } = value
  return { run: (state, dot) => run(state, dot) ?? undefined, flow }
}

/** A pipeline, including declarations and assignments. */
export function compilePipe(pipe: PipeNode, unit: Unit): Compiled {
  const { run, flow } = compilePipeline(pipe, unit)
  const [variable] = pipe.declarations
  if (!variable) return { run, flow }
  if (!pipe.assign) {
    const slot = declare(unit, variable.name, flow)
    return { run: (state, dot) => (state.vars[slot] = run(state, dot)), flow }
  }
  const slot = unit.scope.slotOf(variable.name)
  if (slot === undefined) return alwaysFailing(variable, `undefined variable: ${variable.name}`)
  widen(unit, slot, flow)
  return { run: (state, dot) => (state.vars[slot] = run(state, dot)), flow }
}

/** An expression that always fails. */
function alwaysFailing(span: Span, message: string, hint?: string): Compiled {
  return {
    run: () => {
      throw execFault(message, span, hint)
    },
    flow: TAINTED,
  }
}

/** A mistake found before rendering: Go reports it at execution, the dialect at once. */
export function mistake(unit: Unit, span: Span, message: string, hint?: string): Compiled {
  if (!unit.go) unit.sink.add('parse', span, message, hint)
  return alwaysFailing(span, message, hint)
}

function compileCommand(command: CommandNode, final: Compiled | undefined, unit: Unit): Compiled {
  const compiled = compileWord(command, final, unit)
  if (!final || command.operands[0]!.type === 'identifier') return compiled
  // The piped value is evaluated even if unused.
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

/** An operand as a function argument. */
function compileOperand(node: Operand, unit: Unit): Compiled {
  switch (node.type) {
    case 'dot':
      recordReference(unit, unit.dot, node)
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
  if (typeof value === 'bigint' && overflowsInt(value)) return alwaysFailing(span, `${value} overflows int`)
  return { run: () => value, flow: typeof value === 'string' ? constantText(value) : CONSTANT }
}

function compileField(path: readonly string[], span: Span, hasArgs: boolean, unit: Unit): Compiled {
  const flow = member(unit.dot, path, unit)
  recordReference(unit, flow, span)
  return { run: fieldsEval((_, dot) => dot, path, hasArgs, unit.go, span), flow }
}

/** The value at a path below another one. */
function fieldsEval(base: Eval, path: readonly string[], hasArgs: boolean, go: boolean, span: Span): Eval {
  const last = path.length - 1
  return (state, dot) => {
    let value = base(state, dot)
    for (let at = 0; at <= last; at++) value = field(value, path[at]!, hasArgs && at === last, go, span)
    return value
  }
}

function compileVariable(
  name: string,
  path: readonly string[],
  span: Span,
  hasArgs: boolean,
  unit: Unit,
): Compiled {
  const slot = unit.scope.slotOf(name)
  if (slot === undefined) return mistake(unit, span, `undefined variable: ${name}`)
  const base = unit.flows[slot]!
  const flow = path.length === 0 ? base : member(base, path, unit)
  recordReference(unit, flow, span)
  const run: Eval = (state) => state.vars[slot]
  return { run: path.length === 0 ? run : fieldsEval(run, path, hasArgs, unit.go, span), flow }
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
  const flow = member(base.flow, path, unit)
  recordReference(unit, flow, span)
  return { run: fieldsEval(base.run, path, hasArgs, unit.go, span), flow }
}

/** A function call; `final` is the piped value. */
function compileCall(
  node: IdentifierNode,
  args: readonly Operand[],
  final: Compiled | undefined,
  unit: Unit,
  span: Span,
): Compiled {
  const entry = unit.functions.get(node.name)
  if (!entry) return mistake(unit, node, `"${node.name}" is not a defined function`)
  if (IMPURE.has(entry.name)) unit.dynamic = true
  const count = args.length + (final ? 1 : 0)
  const fixed = entry.params.length
  if (entry.rest ? count < fixed : count !== fixed) {
    const want = entry.rest ? `at least ${fixed}` : `${fixed}`
    const message = `wrong number of args for ${entry.name}: want ${want} got ${count}`
    return mistake(unit, node, message, `use it as: ${entry.usage}`)
  }
  const typeAt = (at: number): ParamType => entry.params[at] ?? entry.rest!
  const compiled = args.map((arg, at) => compileArgument(arg, typeAt(at), unit))
  const last = final && coerced(final, typeAt(args.length), node, unit)
  const all = last ? [...compiled, last] : compiled
  if (entry.name === 'and' || entry.name === 'or') return shortCircuit(entry.name, compiled, last)
  return { run: callEval(entry, compiled, last?.run, span), flow: callFlow(entry, all, unit, span) }
}

/** `and` and `or` evaluate only as many arguments as needed; the piped value is already evaluated. */
function shortCircuit(name: string, args: readonly Compiled[], last: Compiled | undefined): Compiled {
  const runs = args.map(({ run }) => run)
  const stop = name === 'or'
  const all = last ? [...args, last] : args
  const flow = all.reduce<Flow | undefined>((known, arg) => join(known, { ...arg.flow }), undefined)!
  return {
    run: (state, dot) => {
      const final = last?.run(state, dot)
      let value: unknown
      for (const run of runs) {
        value = run(state, dot)
        if (truth(value) === stop) return value
      }
      return last ? final : value
    },
    flow: all.length === 1 ? flow : { ...someItem(flow), form: flow.form },
  }
}

/** Evaluates the arguments, the piped one first, and calls and charges the function. */
function callEval(entry: FunctionEntry, args: readonly Compiled[], last: Eval | undefined, span: Span): Eval {
  const runs = args.map(({ run }) => run)
  const [steps, units] = [stepsPerCall(entry.name), unitsPerStep(entry.name)]
  return (state, dot) => {
    const final = last?.(state, dot)
    const values: unknown[] = []
    for (const run of runs) values.push(run(state, dot))
    if (last) values.push(final)
    let cost = steps
    for (const value of values) {
      if (typeof value === 'string') cost += Math.trunc(value.length / units)
      else if (Array.isArray(value)) cost += value.length >> 4
    }
    state.at = span
    state.callBegins()
    state.charge(cost)
    const result = entry.call(values, state)
    state.callEnds()
    if (typeof result === 'string') {
      checkLength(result.length, state)
      if (result.length > 64) state.charge(result.length >> 6)
    } else if (Array.isArray(result)) state.charge(result.length)
    return result
  }
}

/** The known facts of the result; `env` with a constant name is constant. */
function callFlow(entry: FunctionEntry, args: readonly Compiled[], unit: Unit, span: Span): Flow {
  const flows = args.map(({ flow }) => flow)
  const { changes } = unit
  if (MAP_CHANGERS.has(entry.name)) Object.assign(changes, marksOf([changes, ...flows.slice(1)]))
  const marks = marksOf(MAP_MAKERS.has(entry.name) ? [changes, ...flows] : flows)
  if (entry.name === 'env') {
    marks.secret ||= unit.secrets?.isSecretVariable(flows[0]?.constant) ?? false
    const constant = envConstant(args, unit, span)
    if (constant !== undefined) return { ...constantText(constant), secret: marks.secret }
  }
  const path = referencedPath(entry.name, args)
  if (path) {
    const flow = member(args[path.base]!.flow, path.names, unit)
    recordReference(unit, flow, span)
    return flow
  }
  const constant = entry.form === 'raw' ? flows[0]?.constant : undefined
  const built =
    marks.tainted && (!entry.form || entry.form === 'html') && (marks.built || joinsTexts(entry.name, args))
  return { ...marks, built, form: entry.form ?? 'text', ...(constant === undefined ? {} : { constant }) }
}

/** Functions that join several texts. */
const BUILDERS: ReadonlySet<string> = new Set(
  'print println printf cat join replace regexReplaceAll regexReplaceAllLiteral wrapWith squote'.split(' '),
)

/** Whether the call joins texts; `print .x` and `printf "%v" .x` do not. */
function joinsTexts(name: string, args: readonly Compiled[]): boolean {
  if (!BUILDERS.has(name)) return false
  if (name === 'print') return args.length > 1
  return !(name === 'printf' && args.length === 2 && /^%[a-z]$/.test(args[0]!.flow.constant ?? ''))
}

function envConstant(args: readonly Compiled[], unit: Unit, span: Span): string | undefined {
  const [name, otherwise] = args.map(({ flow }) => flow.constant)
  if (args.some(({ flow }) => flow.tainted) && !unit.go) {
    unit.sink.add('env', span, 'the name of the variable comes from a caller', 'write the name in quotes')
  }
  if (name === undefined) return undefined
  const value = Object.hasOwn(unit.env, name) ? unit.env[name] : undefined
  if (value !== undefined) return value
  if (args.length < 2) {
    const hint = `set it, or give a default: \`{{env "${name}" "default"}}\``
    const message = `the environment variable ${name} is not set`
    if (!unit.go) unit.sink.add('env', span, message, hint, { variable: name })
    return ''
  }
  return otherwise
}

/** `index .a "b"` and `safeGet "b.c" .a` refer to a path too. */
function referencedPath(
  name: string,
  args: readonly Compiled[],
): { base: number; names: string[] } | undefined {
  const constants = args.map(({ flow }) => flow.constant)
  if (name === 'index' && args[0]?.flow.path && constants.slice(1).every((key) => key !== undefined)) {
    return { base: 0, names: constants.slice(1) as string[] }
  }
  if (name === 'safeGet' && args[1]?.flow.path && constants[0] !== undefined) {
    return { base: 1, names: constants[0].split('.') }
  }
  return undefined
}

/** Converts a constant for a parameter type; undefined if it does not fit. */
const FITTING: Partial<Record<ParamType, (value: Constant) => Constant | undefined>> = {
  any: (value) => value,
  value: (value) => value,
  string: (value) => (typeof value === 'string' ? value : undefined),
  bool: (value) => (typeof value === 'boolean' ? value : undefined),
  float: (value) =>
    typeof value === 'bigint' ? Number(value) : typeof value === 'number' ? value : undefined,
  int(value) {
    const integer = typeof value === 'number' && Number.isInteger(value) ? BigInt(value) : value
    return typeof integer === 'bigint' ? integer : undefined
  },
}

function compileArgument(node: Operand, type: ParamType, unit: Unit): Compiled {
  if (node.type === 'nil' && !['any', 'value', 'map', 'list'].includes(type)) {
    return mistake(unit, node, `cannot assign nil to ${type}`)
  }
  const compiled = compileOperand(node, unit)
  if (node.type !== 'number' && node.type !== 'string' && node.type !== 'bool') {
    return coerced(compiled, type, node, unit)
  }
  const fit = FITTING[type]
  if (!fit) return alwaysFailing(node, `can't handle ${String(node.value)} for arg of type ${type}`)
  const value = fit(node.value)
  if (value === node.value) return compiled
  if (value !== undefined) return { run: () => value, flow: compiled.flow }
  const expected = type === 'int' ? 'integer' : type
  return mistake(unit, node, `expected ${expected}; found ${String(node.value)}`)
}

/** Converts a value for a parameter, checked at evaluation. */
function coerced({ run, flow }: Compiled, type: ParamType, span: Span, unit: Unit): Compiled {
  if (type === 'value') return { run, flow }
  if (type === 'any') return { run: (state, dot) => run(state, dot) ?? null, flow }
  const { go } = unit
  return { run: (state, dot) => coerce(run(state, dot), type, span, go, state), flow }
}

function coerce(value: unknown, type: ParamType, span: Span, go: boolean, state: State): unknown {
  const missing = isMissing(value)
  switch (type) {
    case 'string':
      if (typeof value === 'string') return value
      if (!go && missing) {
        state.at = span
        state.missing()
        return ''
      }
      if (!go && (isNumber(value) || typeof value === 'boolean')) return printDialect(value)
      break
    case 'int':
      if (typeof value === 'bigint') return value
      if (!go && typeof value === 'number' && Number.isSafeInteger(value)) return BigInt(value)
      break
    case 'float':
      if (typeof value === 'number') return value
      if (!go && isNumber(value)) return Number(value)
      break
    case 'bool':
      if (typeof value === 'boolean') return value
      break
    case 'list':
      if (missing) return []
      if (Array.isArray(value)) return value
      break
    case 'map':
      if (missing) return {}
      if (asMap(value)) return asMap(value)
      break
  }
  if (missing) throw execFault(`invalid value; expected ${type}`, span)
  throw typeFault(`wrong type for value; expected ${type}; found ${typeName(value)}`, span)
}
