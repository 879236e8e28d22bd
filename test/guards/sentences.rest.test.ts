import assert from 'node:assert/strict'
import { join, relative } from 'node:path'
import { test } from 'node:test'
import ts from 'typescript'
import { ROOT } from '../support/process.ts'
import { SRC, sourceFiles } from './house.ts'

/** Names of properties that hold sentences for people. */
const SENTENCES = new Set(['message', 'hint', 'fault', 'failure', 'reason', 'sentence', 'warning', 'cure'])
const ASKS = new Set(['match', 'matchAll', 'search', 'includes', 'startsWith', 'endsWith', 'indexOf'])

/** Places where a sentence that `src` wrote decides something: a kind beside it should. */
function decisions(
  files: readonly string[],
  own: (file: string) => boolean,
  sources?: ReadonlyMap<string, string>,
) {
  const { config } = ts.readConfigFile(join(ROOT, 'tsconfig.json'), ts.sys.readFile)
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, ROOT)
  const host = ts.createCompilerHost(options)
  const { readFile, fileExists, getSourceFile } = host
  host.readFile = (name) => sources?.get(name) ?? readFile(name)
  host.fileExists = (name) => sources?.has(name) || fileExists(name)
  host.getSourceFile = (name, version, ...rest) =>
    sources?.has(name)
      ? ts.createSourceFile(name, sources.get(name) as string, version, true)
      : getSourceFile(name, version, ...rest)
  const program = ts.createProgram(files, options, host)
  const checker = program.getTypeChecker()
  const found: string[] = []

  const isOwn = (symbol: ts.Symbol | undefined) =>
    symbol?.declarations?.some((declaration) => own(declaration.getSourceFile().fileName)) === true

  /** Whether a property of a type is a sentence that the program wrote. */
  function isSentence(of: ts.Type, name: string): boolean {
    if (!SENTENCES.has(name)) return false
    if (of.isUnion()) return of.types.some((type) => isSentence(type, name))
    const property = of.getProperty(name)
    if (!property || (checker.getTypeOfSymbol(property).flags & ts.TypeFlags.Any) !== 0) return false
    // An error of a class of `src` has its message from `src`.
    return isOwn(property) || isOwn(of.getSymbol())
  }

  function isOwnText(node: ts.Expression, depth = 0): boolean {
    if (depth > 5) return false
    if (ts.isNonNullExpression(node) || ts.isParenthesizedExpression(node) || ts.isAsExpression(node))
      return isOwnText(node.expression, depth + 1)
    if (ts.isBinaryExpression(node))
      return isOwnText(node.left, depth + 1) || isOwnText(node.right, depth + 1)
    if (ts.isPropertyAccessExpression(node))
      return isSentence(checker.getTypeAtLocation(node.expression), node.name.text)
    if (!ts.isIdentifier(node)) return false
    return (checker.getSymbolAtLocation(node)?.declarations ?? []).some((declaration) => {
      if (ts.isBindingElement(declaration) && ts.isObjectBindingPattern(declaration.parent)) {
        const name = (declaration.propertyName ?? declaration.name).getText()
        return isSentence(checker.getTypeAtLocation(declaration.parent), name)
      }
      if (ts.isParameter(declaration))
        return SENTENCES.has(node.text) && checker.getTypeAtLocation(node).flags === ts.TypeFlags.String
      if (!ts.isVariableDeclaration(declaration) || !declaration.initializer) return false
      const { initializer } = declaration
      // What a function of `src` makes under such a name is a sentence as well.
      const made = ts.isCallExpression(initializer) || ts.isBinaryExpression(initializer)
      return (made && SENTENCES.has(node.text)) || isOwnText(initializer, depth + 1)
    })
  }

  function subjectOf(node: ts.CallExpression): ts.Expression | undefined {
    if (!ts.isPropertyAccessExpression(node.expression)) return undefined
    const { name, expression } = node.expression
    if (ASKS.has(name.text)) return expression
    const isPattern = checker.getTypeAtLocation(expression).getSymbol()?.name === 'RegExp'
    return isPattern && (name.text === 'test' || name.text === 'exec') ? node.arguments[0] : undefined
  }

  for (const source of program.getSourceFiles()) {
    if (!own(source.fileName)) continue
    const visit = (node: ts.Node): void => {
      const subject = ts.isCallExpression(node) ? subjectOf(node) : undefined
      if (subject && isOwnText(subject)) {
        const { line } = source.getLineAndCharacterOfPosition(node.getStart())
        found.push(`${relative(ROOT, source.fileName)}:${line + 1} ${node.getText().slice(0, 80)}`)
      }
      ts.forEachChild(node, visit)
    }
    visit(source)
  }
  return found
}

test('nothing is decided by a sentence that the program wrote', () => {
  const files = sourceFiles().map((file) => join(SRC, file))
  assert.deepEqual(
    decisions(files, (file) => file.startsWith(SRC)),
    [],
  )
})

test('a decision by a sentence is found', () => {
  const file = join(ROOT, 'test/guards/example.ts')
  const lines = [
    'interface Fault { kind: string; message: string }',
    'class OwnError extends Error {}',
    'export const wrong = (fault: Fault) => /timed out/.test(fault.message)',
    "export const alsoWrong = ({ message }: Fault) => message.includes('timed out')",
    "export const unwrapped = (error: OwnError) => error.message.startsWith('x')",
    "export const right = (fault: Fault) => fault.kind === 'timeout'",
    'export const given = (hint: string) => hint.endsWith("x")',
    'export const foreign = (error: Error) => /certificate/.test(error.message)',
  ]
  const found = decisions([file], (name) => name === file, new Map([[file, lines.join('\n')]]))
  assert.deepEqual(
    found.map((each) => Number(each.match(/:(\d+)/)?.[1])),
    [3, 4, 5, 7],
  )
})
