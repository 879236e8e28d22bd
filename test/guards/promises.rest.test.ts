import assert from 'node:assert/strict'
import { join, relative } from 'node:path'
import { test } from 'node:test'
import ts from 'typescript'
import { ROOT } from '../support/process.ts'

/** Every place in `files` where a promise may be rejected with nobody to catch it. */
function uncaught(files: readonly string[], sources?: ReadonlyMap<string, string>): string[] {
  const { config } = ts.readConfigFile(join(ROOT, 'tsconfig.json'), ts.sys.readFile)
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, ROOT)
  const host = ts.createCompilerHost(options)
  const { readFile } = host
  host.readFile = (name) => sources?.get(name) ?? readFile(name)
  const fileExists = host.fileExists
  host.fileExists = (name) => sources?.has(name) || fileExists(name)
  const { getSourceFile } = host
  host.getSourceFile = (name, version, ...rest) =>
    sources?.has(name)
      ? ts.createSourceFile(name, sources.get(name) as string, version, true)
      : getSourceFile(name, version, ...rest)
  const program = ts.createProgram(files, options, host)
  const checker = program.getTypeChecker()
  const found: string[] = []

  function isPromise(type: ts.Type): boolean {
    if (type.isUnion()) return type.types.some(isPromise)
    const then = type.getProperty('then')
    return then !== undefined && type.getProperty('catch') !== undefined
  }

  /** Whether what ends the chain takes every rejection. */
  function isCaught(node: ts.Expression): boolean {
    if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return false
    const { name } = node.expression
    if (name.text === 'catch') return node.arguments.length === 1
    if (name.text === 'then') return node.arguments.length === 2
    // What `finally` is given runs in any case, and hands the rejection on.
    return name.text === 'finally' && isCaught(node.expression.expression)
  }

  function report(node: ts.Node, what: string): void {
    const file = node.getSourceFile()
    const { line } = file.getLineAndCharacterOfPosition(node.getStart())
    found.push(`${relative(ROOT, file.fileName)}:${line + 1} ${what}`)
  }

  function floats(node: ts.Expression): boolean {
    if (ts.isAwaitExpression(node)) return false
    if (ts.isParenthesizedExpression(node) || ts.isVoidExpression(node)) return floats(node.expression)
    if (ts.isBinaryExpression(node)) {
      const { kind } = node.operatorToken
      if (kind >= ts.SyntaxKind.FirstAssignment && kind <= ts.SyntaxKind.LastAssignment) return false
      return floats(node.right)
    }
    if (ts.isConditionalExpression(node)) return floats(node.whenTrue) || floats(node.whenFalse)
    return isPromise(checker.getTypeAtLocation(node)) && !isCaught(node)
  }

  /** A callback that gives a promise where its caller looks at no result. */
  function isUnwatched(argument: ts.Expression): boolean {
    const own = checker.getTypeAtLocation(argument).getCallSignatures()
    const wanted = checker.getContextualType(argument)?.getNonNullableType().getCallSignatures() ?? []
    const gives = own.filter((signature) => isPromise(signature.getReturnType()))
    if (!gives.length || !wanted.length) return false
    const takes = (signature: ts.Signature) => (signature.getReturnType().flags & ts.TypeFlags.Void) !== 0
    if (!wanted.every(takes)) return false
    const body = ts.isArrowFunction(argument) && !ts.isBlock(argument.body) ? argument.body : undefined
    return body === undefined || floats(body)
  }

  function visit(node: ts.Node): void {
    if (ts.isExpressionStatement(node) && floats(node.expression)) report(node, 'a promise without a catch')
    if (ts.isCallExpression(node) || ts.isNewExpression(node))
      for (const argument of node.arguments ?? [])
        if (isUnwatched(argument)) report(argument, 'a callback whose promise nobody watches')
    if (ts.isArrowFunction(node) && ts.isVoidExpression(node.body) && floats(node.body))
      report(node, 'a promise without a catch')
    if (ts.isReturnStatement(node) && node.expression && ts.isVoidExpression(node.expression))
      if (floats(node.expression)) report(node, 'a promise without a catch')
    ts.forEachChild(node, visit)
  }

  for (const file of program.getSourceFiles()) if (files.includes(file.fileName)) visit(file)
  return found
}

test('no promise of src is left without a catch', () => {
  const files = ts.sys.readDirectory(join(ROOT, 'src'), ['.ts'])
  assert.ok(files.length > 300)
  assert.deepEqual(uncaught(files), [])
})

test('the guard finds what it is for', () => {
  const name = join(ROOT, 'src', 'guarded.ts')
  const source = `
    import { EventEmitter } from 'node:events'
    declare const work: () => Promise<void>
    declare const maybe: () => Promise<void> | undefined
    const emitter = new EventEmitter()
    work()
    void work()
    work().then(() => {})
    work().finally(() => {})
    maybe()
    setTimeout(async () => work(), 1)
    emitter.on('x', async () => work())
    emitter.on('x', () => void work())
    work().catch(() => {})
    work().then(() => {}, () => {})
    work().catch(() => {}).finally(() => {})
    setTimeout(() => work().catch(() => {}), 1)
    const kept = work()
    export { kept }
  `
  const lines = uncaught([name], new Map([[name, source]])).map((place) => Number(place.split(/[: ]/)[1]))
  assert.deepEqual(lines, [6, 7, 8, 9, 10, 11, 12, 13])
})
