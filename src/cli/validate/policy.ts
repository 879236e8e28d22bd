import { statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Command } from 'commander'
import {
  LINT_CONFIG_FILE,
  type LintConfig,
  leadsOutside,
  outsideFinding,
  readLintConfig,
  type Source,
} from '../../config/index.ts'
import { applyIgnores, CHECKS, CODES, type Finding, type FindingCode, select } from '../../findings/index.ts'
import { nearest } from '../../text/index.ts'
import { namedSource } from '../settings.ts'

/** Flags that select findings. */
export interface PolicyFlags {
  only?: string[]
  skip?: string[]
  lintConfig?: string
}

/** Adds the options that select checks. */
export function withCheckOptions(command: Command): Command {
  const checks = Object.keys(CHECKS).join(', ')
  return command
    .option('--only <checks>', `run only these checks (${checks}) or codes (comma-separated)`, names, [])
    .option('--skip <checks>', 'skip these checks or codes (comma-separated)', names, [])
}

/** Adds the option of the lint configuration. */
export function withLintConfig(command: Command): Command {
  return command.option(
    '--lint-config <file>',
    `lint configuration (default: ${LINT_CONFIG_FILE} in this folder or beside the first path)`,
  )
}

/** @throws Error for an unknown check or code */
function names(text: string, before: readonly string[]): string[] {
  const known = [...Object.keys(CHECKS), ...Object.keys(CODES)]
  const given = text
    .split(',')
    .map((name) => name.trim())
    .filter(Boolean)
  const unknown = given.find((name) => !known.includes(name))
  if (unknown !== undefined) {
    const close = nearest(unknown, known)
    const hint = close ? `did you mean ${close}?` : `checks are ${Object.keys(CHECKS).join(', ')}`
    throw new Error(`unknown check or code ${JSON.stringify(unknown)}: ${hint}`)
  }
  return [...before, ...given]
}

export interface Policy {
  config: LintConfig
  /** Findings about the lint configuration itself. */
  findings: Finding[]
  source: Source | undefined
  /**
   * Removes findings silenced by comments, flags and the lint configuration, and sets severities; sorted.
   * @param unread unreadable files
   * @param ran whether a code was checked
   */
  apply(
    findings: readonly Finding[],
    sources: ReadonlyMap<string, string>,
    unread: ReadonlySet<string>,
    ran: (code: FindingCode) => boolean,
  ): Finding[]
}

/** @throws Error if the file of `--lint-config` is unreadable */
export function readPolicy(paths: readonly string[], flags: PolicyFlags): Policy {
  const read = namedSource(flags.lintConfig ?? findLintConfig(paths), 'lint configuration')
  const { config = { severity: {}, limits: {} }, findings: all } = readLintConfig(read, process.env)
  // A discovered file may be a link planted by anyone who can write to the folder.
  const isHidden =
    read !== undefined && flags.lintConfig === undefined && leadsOutside(read.file, dirname(read.file))
  const source = isHidden ? { file: read.file, text: '' } : read
  const findings = isHidden && all.length > 0 ? [outsideFinding(read.file)] : all
  const selection = { only: flags.only ?? [], skip: flags.skip ?? [], severity: config.severity }
  return {
    config,
    findings,
    source,
    apply(found, sources, unread, ran) {
      const isKnown = (code: FindingCode, file: string) => ran(code) && !unread.has(file)
      return select(applyIgnores(found, sources, { ran: isKnown }), selection, unread)
    },
  }
}

/** Excludes pipes and devices, which could be endless; errors are reported when the path is read. */
function isFile(path: string): boolean {
  try {
    return statSync(path).isFile()
  } catch {
    return false
  }
}

function findLintConfig([first = '.']: readonly string[]): string | undefined {
  const folders = ['.', first, dirname(first)]
  return folders.map((folder) => join(folder, LINT_CONFIG_FILE)).find(isFile)
}
