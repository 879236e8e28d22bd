import { basename } from 'node:path'
import {
  asksForLogin,
  type Configuration,
  type McpServer,
  type ReadConfiguration,
  type Router,
} from '../../config/index.ts'
import { type Finding, type Path, type Reporter, sortFindings } from '../../findings/index.ts'
import { type Json, textsIn } from '../../json/index.ts'
import { hiddenIn, quote, repeats } from '../../text/index.ts'
import { type CheckOptions, type Checks, type Context, type Read, runChecks } from '../check.ts'
import { checkFindable } from './findable.ts'
import { checkTargets } from './hosts.ts'
import { checkArgumentNames, checkProxiedNames, checkToolName, checkUnused } from './naming.ts'
import { checkShortForm } from './short-form.ts'
import { checkArgumentSchema, checkDefaults, checkLengths, checkMissing, checkSchemas } from './tools.ts'

export { secretsIn } from './leaked-secrets.ts'

/** Minimum characters of an unguessable token. */
const SHORTEST_TOKEN = 16

/** Checks against working but inadvisable settings; `secretsIn` additionally scans the text. */
const PRACTICE_CHECKS: Checks = {
  configuration: [
    checkFileName,
    checkUnused,
    checkFindable,
    checkMissing,
    checkTargets,
    checkHiddenText,
    checkShortForm,
  ],
  router: [checkCorsLists, checkAnyOrigin, checkTokenLength],
  server: [checkToolLists],
  mcpServer: [checkToolLists, checkProxiedNames],
  tool: [checkArgumentNames, checkToolName, checkLengths, checkDefaults, checkSchemas],
  arg: [checkArgumentSchema],
}

/** Runs the practice checks; sorted. Never throws. */
export function lintPractice(read: ReadConfiguration, options: CheckOptions = {}): Finding[] {
  return read.configuration ? sortFindings(runChecks(PRACTICE_CHECKS, read as Read, options)) : []
}

/** `shop.yaml`, `shop.prod.yaml` and `01-my_shop.yml` are files of `shop`. */
function checkFileName({ name }: Configuration, report: Reporter, { read: { file } }: Context) {
  // Configurations from a store or standard input have no file name.
  if (!/\.(?:ya?ml|json)$/i.test(file)) return
  const plain = (text: string) => text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '')
  const [own, other] = [plain(basename(file).replace(/\.(?:ya?ml|json)$/i, '')), plain(name)]
  if (own === '' || other === '' || own.includes(other) || other.includes(own)) return
  report({
    code: 'file-name',
    path: ['name'],
    message: `the file of the configuration ${quote(name)} is named ${quote(basename(file))}`,
    hint: `Rename it to \`${name}.yaml\`, or rename the configuration`,
  })
}

function checkToolLists(
  { allowedTools, blockedTools }: Partial<Pick<McpServer, 'allowedTools' | 'blockedTools'>>,
  report: Reporter,
) {
  checkList(allowedTools, ['allowedTools'], report)
  checkList(blockedTools, ['blockedTools'], report)
}

function checkCorsLists({ cors }: Router, report: Reporter) {
  for (const key of ['allowOrigins', 'allowMethods', 'allowHeaders', 'exposeHeaders'] as const) {
    const entries = cors?.[key].map((text) => text.toLowerCase())
    checkList(entries, ['cors', key], report)
  }
}

/** A repeated entry has no effect, or hides a typo. */
function checkList(entries: readonly string[] = [], path: Path, report: Reporter) {
  for (const [i] of repeats(entries))
    report({
      code: 'repeated-entry',
      path: [...path, i],
      message: `\`${path.at(-1)}\` names ${quote(entries[i]!)} twice`,
      hint: 'Remove it, or write the entry that was meant',
    })
}

function checkAnyOrigin({ cors, prefix, ...router }: Router, report: Reporter, { options }: Context) {
  const at = cors?.allowOrigins.indexOf('*') ?? -1
  if (!options.production || at === -1 || asksForLogin(router)) return
  report({
    code: 'cors-any-origin',
    path: ['cors', 'allowOrigins', at],
    message: `every web site may call the tools of ${quote(prefix)}`,
    hint: 'List the origins of your own pages, or require a login with `auth`',
  })
}

function checkTokenLength({ auth }: Router, report: Reporter, { isRepaired, path }: Context) {
  for (const [k, { token }] of (auth?.tokens ?? []).entries()) {
    const own = ['auth', 'tokens', k, 'token']
    // A digest does not reveal its token.
    if (token.length >= SHORTEST_TOKEN || token.startsWith('sha256:') || isRepaired([...path, ...own]))
      continue
    report({
      code: 'weak-token',
      path: own,
      message: `the token has fewer than ${SHORTEST_TOKEN} characters`,
      hint: 'Make one with `openssl rand -base64 32`, and pass it as `${NAME}`',
    })
  }
}

/** Syntax that can produce other characters than written: escapes and variables. */
const ESCAPE_OR_VARIABLE = /\\|\$\{/
/** Keys of prose for models, which clients do not send back. */
const PROSE: ReadonlySet<string | number> = new Set(['title', 'description'])

/** Hidden characters in texts, which models read. */
function checkHiddenText(configuration: Configuration, report: Reporter, { read: { text } }: Context) {
  if (!ESCAPE_OR_VARIABLE.test(text) && hiddenIn(text) === undefined) return
  for (const key of ['servers', 'tools', 'prompts', 'mcpServers'] as const)
    for (const [one, path] of textsIn(configuration[key] as unknown as Json, [key])) {
      const found = PROSE.has(path.at(-1)!) ? hiddenIn(one) : undefined
      if (found !== undefined)
        report({
          code: 'suspicious-text',
          path,
          message: `the text has a character that people do not see and models read (${found})`,
          hint: 'Delete it, or write the text again by hand',
        })
    }
}
