import type { Node, Operand, PipeNode, Tree } from '../../template/index.ts'

/** Calls for each node of a template and its definitions, in any branch; outer ones first. */
export function eachNode({ root, definitions }: Tree, visit: (node: Node) => void): void {
  const inList = (nodes: readonly Node[]): void => {
    for (const node of nodes) {
      visit(node)
      if (!('list' in node)) continue
      inList(node.list)
      inList(node.elseList ?? [])
    }
  }
  for (const list of new Set([root, ...definitions.values()])) inList(list)
}

/** Calls for each pipeline, in parentheses too, with the node that it stands in; outer ones first. */
export function eachPipe(tree: Tree, visit: (pipe: PipeNode, node: Node) => void): void {
  const inPipe = (pipe: PipeNode, node: Node): void => {
    visit(pipe, node)
    for (const { operands } of pipe.commands) for (const operand of operands) inOperand(operand, node)
  }
  const inOperand = (operand: Operand, node: Node): void => {
    if (operand.type === 'pipe') inPipe(operand, node)
    else if (operand.type === 'chain') inOperand(operand.node, node)
  }
  eachNode(tree, (node) => {
    if ('pipe' in node && node.pipe) inPipe(node.pipe, node)
  })
}

/** Whether the output may differ by more than the values in it. */
export function hasBranches({ root, definitions }: Tree): boolean {
  const within = (list: readonly Node[]) => list.some((node) => 'list' in node)
  return within(root) || [...definitions.values()].some(within)
}
