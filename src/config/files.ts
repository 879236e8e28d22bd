import { realpathSync } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { basename, join, relative, resolve, sep } from 'node:path'
import {
  CHECKS,
  CODES,
  type Finding,
  finding,
  hasErrors,
  type Report,
  suggest,
  toFinding,
} from '../findings/index.ts'
import { isObject } from '../json/index.ts'
import { quote } from '../text/index.ts'
import { withDefaults } from './build.ts'
import { unreadable } from './loader.ts'
import type { Env, LintConfig, Source } from './model.ts'
import { limited, readSchemaFile } from './read.ts'

/** The settings file that commands find in the working folder. */
export const SETTINGS_FILE = 'plantgw.yaml'

/** Keys that only configurations have at their top. */
const OWN_KEYS = ['routers', 'servers', 'tools', 'prompts', 'mcpServers']

/**
 * Whether a file that a folder contains is a configuration, by its name or its keys: `package.json` and the settings
 * beside the configurations are none. An unparsable file is one, so that its error is reported.
 */
export function mayBeConfiguration({ file, text }: Source): boolean {
  if (basename(file) === SETTINGS_FILE)
    return OWN_KEYS.some((key) => text.startsWith(`${key}:`) || text.includes(`\n${key}:`))
  if (!/\.json$/i.test(file)) return true
  try {
    const value = JSON.parse(text.replace(/^\uFEFF/, ''))
    return isObject(value) && OWN_KEYS.some((key) => Object.hasOwn(value, key))
  } catch {
    return true
  }
}

/**
 * The files that a path stands for: for a folder every `*.yaml`, `*.yml` and `*.json` in and below it; hidden ones,
 * `node_modules` and `plantgw.lint.yaml` apart. Adds a finding if there are none.
 * @param links gets each symbolic link, and whether it leads out of the folder
 */
export async function filesOf(
  path: string,
  findings: Finding[],
  links?: Map<string, boolean>,
): Promise<string[]> {
  if (path === '-') return [path]
  try {
    if (!(await stat(path)).isDirectory()) return [path]
    const onLink = (link: string) => links?.set(link, links.get(link) || leadsOutside(link, path))
    const files = await configurationFiles(path, findings, onLink)
    if (files.length === 0) findings.push(noFiles(path))
    return files
  } catch (error) {
    findings.push(unreadable(path, error))
    return []
  }
}

/** The files that paths stand for. */
interface NamedFiles {
  /** By path. */
  found: ReadonlyMap<string, readonly string[]>
  /** Each of them once. */
  names: readonly string[]
  /** Names given explicitly. */
  asked: ReadonlySet<string>
  /** Unnamed files outside of a folder that a link in it leads to. */
  outside: ReadonlySet<string>
}

export async function filesAt(paths: readonly string[], findings: Finding[]): Promise<NamedFiles> {
  const links = new Map<string, boolean>()
  const identityOf = (file: string) => (paths.length === 1 || file === '-' ? file : resolve(file))
  const named = new Set(paths.map(identityOf))
  const found = new Map<string, readonly string[]>()
  for (const path of paths) found.set(path, await filesOf(path, findings, links))
  const all = [...found.values()].flat()
  // Files of one folder differ.
  const names = paths.length === 1 ? all : onePerIdentity(all, identityOf)
  const asked = new Set(names.filter((file) => named.has(identityOf(file))))
  const outside = [...links].flatMap(([file, isOut]) => (isOut && !named.has(identityOf(file)) ? [file] : []))
  return { found, names, asked, outside: new Set(outside) }
}

/** The first file of each identity. */
function onePerIdentity(files: readonly string[], identityOf: (file: string) => string): string[] {
  const seen = new Set<string>()
  return files.filter((file) => {
    const identity = identityOf(file)
    return !seen.has(identity) && seen.add(identity)
  })
}

export function noFiles(folder: string): Finding {
  const hint = 'Name a folder that contains configurations: `*.yaml`, `*.yml` or `*.json` files'
  return finding('no-files', folder, 'the folder contains no configuration', { hint })
}

/** A settings file in a folder of configurations, which no command finds there. */
export function unreadSettings(file: string, env: Env): Finding | undefined {
  const { PLANTGW_SETTINGS = '' } = env
  const isUsed = [SETTINGS_FILE, PLANTGW_SETTINGS].some((one) => one && resolve(one) === resolve(file))
  if (basename(file) !== SETTINGS_FILE || isUsed) return undefined
  return finding('unread-settings', file, 'this settings file among the configurations is not read', {
    hint: `Use it with \`--settings ${file}\`, or remove it`,
  })
}

/** The name of the lint file, which is no configuration. */
export const LINT_CONFIG_FILE = 'plantgw.lint.yaml'

const SKIPPED: ReadonlySet<string> = new Set([LINT_CONFIG_FILE, 'node_modules'])

async function configurationFiles(
  folder: string,
  findings: Finding[],
  onLink: (link: string) => void,
): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true })
  const files: string[] = []
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (entry.name.startsWith('.') || SKIPPED.has(entry.name)) continue
    const path = join(folder, entry.name)
    if (entry.isDirectory()) {
      try {
        files.push(...(await configurationFiles(path, findings, onLink)))
      } catch (error) {
        findings.push(unreadable(path, error))
      }
    } else if (/\.(?:ya?ml|json)$/i.test(entry.name)) {
      // Pipes and devices are skipped.
      if (entry.isFile()) files.push(path)
      if (!entry.isSymbolicLink() || !(await mayBeFile(path))) continue
      files.push(path)
      onLink(path)
    }
  }
  return files
}

/** Links to pipes, devices and folders are skipped; one to a folder could lead back up. */
async function mayBeFile(link: string): Promise<boolean> {
  const target = await stat(link).catch(() => undefined)
  // Reading a link that leads nowhere gives a finding.
  return target === undefined || target.isFile()
}

/** Whether a link leads to a file outside of the folder; false for a link without a target. */
export function leadsOutside(link: string, folder: string): boolean {
  try {
    const way = relative(realpathSync(folder), realpathSync(link))
    return way === '..' || way.startsWith(`..${sep}`)
  } catch {
    return false
  }
}

/**
 * Replaces all findings of such a file: an author with access to the folder may lack access to the link's target, so no
 * line, key or place of it is shown.
 */
export function outsideFinding(file: string): Finding {
  return finding(
    'linked-file',
    file,
    'the link leads out of the folder, to a file that is not a valid configuration',
    {
      hint: 'Check the target file by its own path',
    },
  )
}

/**
 * Reads a `plantgw.lint.yaml`. Never throws.
 * @param source undefined: none
 * @returns undefined for `config` when there is an error
 */
export function readLintConfig(
  source: Source | undefined,
  env: Env,
): { config: LintConfig | undefined; findings: Finding[] } {
  if (!source) return { config: { severity: {}, limits: {} }, findings: [] }
  const { file } = source
  const { findings, locate, matchesSchema, value } = readSchemaFile(source, env, 'lint')
  const { severity, limits } = withDefaults('lint', matchesSchema ? value : {}) as unknown as LintConfig
  const known = [...Object.keys(CHECKS), ...Object.keys(CODES)]
  for (const name of Object.keys(severity)) {
    if (known.includes(name)) continue
    const { suggestion } = suggest(name, known)
    const advice = suggestion === undefined ? { hint: '`plantgw explain` lists the codes' } : { suggestion }
    const message = `there is no finding and no check ${quote(name)}`
    const found: Report = { code: 'unknown-key', path: ['severity', name], isKey: true, message, ...advice }
    findings.push(toFinding(found, { ...source, locate }))
  }
  return { config: hasErrors(findings) ? undefined : { severity, limits }, findings: limited(findings, file) }
}
