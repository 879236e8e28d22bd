/** The structure of `src`, read from its syntax: what the guards of this folder hold, and `npm run house` prints. */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import ts from 'typescript'
import { ROOT } from '../support/process.ts'

export const SRC = join(ROOT, 'src')

export interface LongFunction {
  /** Such as `mcp/session/session-registry.ts createRegistry`. */
  name: string
  lines: number
}

/** Paths of all files below `src`, relative to it. */
export function sourceFiles(): string[] {
  return readdirSync(SRC, { recursive: true })
    .map(String)
    .filter((name) => /\.tsx?$/.test(name))
    .sort()
}

export function parseSource(file: string): ts.SourceFile {
  return ts.createSourceFile(file, readFileSync(join(SRC, file), 'utf8'), ts.ScriptTarget.ES2022, true)
}

/** Functions of more than so many lines, closures counted, the longest first. */
export function longFunctions(sources: readonly ts.SourceFile[], above: number): LongFunction[] {
  const found: LongFunction[] = []
  for (const source of sources) {
    const visit = (node: ts.Node): void => {
      if (ts.isFunctionLike(node) && 'body' in node && node.body) {
        const line = (position: number) => source.getLineAndCharacterOfPosition(position).line
        const lines = line(node.getEnd()) - line(node.getStart(source)) + 1
        if (lines > above) found.push({ name: `${source.fileName} ${nameOf(node)}`, lines })
      }
      ts.forEachChild(node, visit)
    }
    visit(source)
  }
  return found.sort((a, b) => b.lines - a.lines)
}

/** The name that a function has, or that what holds it gives it. */
function nameOf(node: ts.Node): string {
  if ('name' in node && node.name) return (node.name as ts.Node).getText()
  const { parent } = node
  if (parent && (ts.isVariableDeclaration(parent) || ts.isPropertyAssignment(parent)))
    return parent.name.getText()
  return 'a closure'
}

/** What each file imports of `src`; `import type` counts only with `types`. */
export function imports(sources: readonly ts.SourceFile[], types = false): Map<string, Set<string>> {
  return new Map(sources.map((source) => [source.fileName, targets(source, types)]))
}

function targets(source: ts.SourceFile, types: boolean): Set<string> {
  const found = new Set<string>()
  for (const statement of source.statements) {
    if (!ts.isImportDeclaration(statement) && !ts.isExportDeclaration(statement)) continue
    const { moduleSpecifier } = statement
    if (!moduleSpecifier || !ts.isStringLiteral(moduleSpecifier) || !moduleSpecifier.text.startsWith('.'))
      continue
    if (types || isUsedAtRunTime(statement))
      found.add(normalize(join(dirname(source.fileName), moduleSpecifier.text)))
  }
  return found
}

function isUsedAtRunTime(statement: ts.ImportDeclaration | ts.ExportDeclaration): boolean {
  if (ts.isExportDeclaration(statement)) {
    const { exportClause, isTypeOnly } = statement
    if (isTypeOnly) return false
    return (
      !exportClause ||
      !ts.isNamedExports(exportClause) ||
      exportClause.elements.some((each) => !each.isTypeOnly)
    )
  }
  const clause = statement.importClause
  if (!clause) return true
  if (clause.isTypeOnly) return false
  const { name, namedBindings } = clause
  if (name || !namedBindings || ts.isNamespaceImport(namedBindings)) return true
  return namedBindings.elements.some((each) => !each.isTypeOnly)
}

/** Groups of files that import each other, directly or through others (Tarjan's strongly connected components). */
export function circles(graph: ReadonlyMap<string, ReadonlySet<string>>): string[][] {
  const found: string[][] = []
  const index = new Map<string, number>()
  const low = new Map<string, number>()
  const stack: string[] = []
  const visit = (file: string): void => {
    index.set(file, index.size)
    low.set(file, index.get(file)!)
    stack.push(file)
    for (const target of graph.get(file) ?? []) {
      if (!graph.has(target)) continue
      if (!index.has(target)) {
        visit(target)
        low.set(file, Math.min(low.get(file)!, low.get(target)!))
      } else if (stack.includes(target)) low.set(file, Math.min(low.get(file)!, index.get(target)!))
    }
    if (low.get(file) !== index.get(file)) return
    const members = stack.splice(stack.indexOf(file))
    if (members.length > 1) found.push(members.sort())
  }
  for (const file of graph.keys()) if (!index.has(file)) visit(file)
  return found
}
