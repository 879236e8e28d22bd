/** One operation of a history. Times are the positions of its call and its answer in the order of all of them. */
export interface Operation<I, O> {
  input: I
  /** Undefined where no answer came: it may have taken effect at any time after the call, or never. */
  output: O | undefined
  called: number
  answered: number
}

/** What a single copy does when operations come one at a time. */
export interface Model<S, I, O> {
  initial: S
  /**
   * The state after the operation; undefined where it could not have answered so in this state. An operation without an
   * output leaves the state as it is where it has no effect.
   */
  step(state: S, input: I, output: O | undefined): S | undefined
  /** Equal for equal states only. */
  key(state: S): string
}

export interface Verdict<I, O> {
  linearizable: boolean
  /** Operations in an order that explains their answers: all that were answered, or as many as there is one for. */
  order: Operation<I, O>[]
}

interface Node<I, O> {
  /** Undefined at both ends. */
  operation: Operation<I, O> | undefined
  /** Its bit in the set of operations that took effect. */
  bit: bigint
  isCall: boolean
  /** Of a call, where it was answered. */
  answer: Node<I, O> | undefined
  before: Node<I, O> | undefined
  after: Node<I, O> | undefined
}

/**
 * Whether operations that overlapped could have taken effect one at a time, each between its call and its answer (Wing and
 * Gong 1993), by depth-first search. A set of operations that led to the same state before is not tried again (Lowe 2017).
 */
export function linearization<S, I, O>(
  operations: readonly Operation<I, O>[],
  { initial, step, key }: Model<S, I, O>,
): Verdict<I, O> {
  const head = chain(operations)
  const taken: { call: Node<I, O>; state: S }[] = []
  const tried = new Set<string>()
  let longest: Operation<I, O>[] = []
  let [state, done] = [initial, 0n]
  let answers = operations.filter(({ output }) => output !== undefined).length
  let node = head.after!
  while (answers > 0) {
    const { operation } = node
    if (operation && node.isCall) {
      const next = step(state, operation.input, operation.output)
      const isIdle = operation.output === undefined && next !== undefined && key(next) === key(state)
      const then = done | node.bit
      const place = next === undefined || isIdle ? undefined : `${then.toString(36)} ${key(next)}`
      if (next === undefined || place === undefined || tried.has(place)) {
        node = node.after!
        continue
      }
      tried.add(place)
      taken.push({ call: node, state })
      lift(node)
      if (node.answer) answers--
      ;[state, done] = [next, then]
      node = head.after!
      if (taken.length > longest.length) longest = taken.map(({ call }) => call.operation!)
    } else {
      // Somebody has the answer of an operation that found no place before it: an earlier choice was wrong.
      const last = taken.pop()
      if (!last) return { linearizable: false, order: longest }
      unlift(last.call)
      if (last.call.answer) answers++
      ;[state, done] = [last.state, done & ~last.call.bit]
      node = last.call.after!
    }
  }
  return { linearizable: true, order: taken.map(({ call }) => call.operation!) }
}

/** Calls and answers as a list, in their order; the head of it. */
function chain<I, O>(operations: readonly Operation<I, O>[]): Node<I, O> {
  const end = (): Node<I, O> => ({
    operation: undefined,
    bit: 0n,
    isCall: false,
    answer: undefined,
    before: undefined,
    after: undefined,
  })
  const nodes = operations.flatMap((operation, index) => {
    const bit = 1n << BigInt(index)
    const answer = operation.output === undefined ? undefined : { ...end(), operation, bit }
    const call = { ...end(), operation, bit, isCall: true, answer }
    return answer ? [call, answer] : [call]
  })
  const timeOf = ({ operation, isCall }: Node<I, O>) => (isCall ? operation!.called : operation!.answered)
  nodes.sort((one, other) => timeOf(one) - timeOf(other))
  const list = [end(), ...nodes, end()]
  for (const [index, node] of list.entries()) {
    node.before = list[index - 1]
    node.after = list[index + 1]
  }
  return list[0]!
}

function lift<I, O>(call: Node<I, O>): void {
  for (const node of call.answer ? [call, call.answer] : [call]) {
    node.before!.after = node.after
    node.after!.before = node.before
  }
}

function unlift<I, O>(call: Node<I, O>): void {
  for (const node of call.answer ? [call.answer, call] : [call]) {
    node.before!.after = node
    node.after!.before = node
  }
}
