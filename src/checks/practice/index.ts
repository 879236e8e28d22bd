import { basename } from 'node:path'
import { asksForLogin, type Cors, type ReadConfiguration } from '../../config/index.ts'
import { type Finding, type Path, type Reporter, sortFindings } from '../../findings/index.ts'
import { type Json, textsIn } from '../../json/index.ts'
import { hiddenIn, quote, repeats } from '../../text/index.ts'
import { type Check, type CheckOptions, type Read, runChecks } from '../check.ts'
import { FINDABLE_CHECKS } from './findable.ts'
import { HOST_CHECKS } from './hosts.ts'
import { NAME_CHECKS } from './naming.ts'
import { SHORT_FORM_CHECKS } from './short-form.ts'
import { TOOL_CHECKS } from './tools.ts'

export { secretsIn } from './leaked-secrets.ts'

/** Minimum characters of an unguessable token. */
const SHORTEST_TOKEN = 16

/** Checks against working but inadvisable settings; `secretsIn` additionally scans the text. */
export const PRACTICE_CHECKS: readonly Check[] = [
  {
    // `shop.yaml`, `shop.prod.yaml` and `01-my_shop.yml` are files of `shop`.
    codes: ['file-name'],
    on: 'configuration',
    check({ name }, report, { read: { file } }) {
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
    },
  },
  {
    codes: ['repeated-entry'],
    on: 'server',
    check: ({ allowedTools }, report) => checkList(allowedTools, ['allowedTools'], report),
  },
  {
    codes: ['repeated-entry'],
    on: 'mcpServer',
    check({ allowedTools, blockedTools }, report) {
      checkList(allowedTools, ['allowedTools'], report)
      checkList(blockedTools, ['blockedTools'], report)
    },
  },
  {
    codes: ['repeated-entry'],
    on: 'router',
    check({ cors }, report) {
      for (const key of [
        'allowOrigins',
        'allowMethods',
        'allowHeaders',
        'exposeHeaders',
      ] satisfies (keyof Cors)[])
        checkList(
          cors?.[key].map((text) => text.toLowerCase()),
          ['cors', key],
          report,
        )
    },
  },
  {
    codes: ['cors-any-origin'],
    on: 'router',
    check({ cors, prefix, ...router }, report, { options: { production } }) {
      const at = cors?.allowOrigins.indexOf('*') ?? -1
      if (!production || at === -1 || asksForLogin(router)) return
      report({
        code: 'cors-any-origin',
        path: ['cors', 'allowOrigins', at],
        message: `every web site may call the tools of ${quote(prefix)}`,
        hint: 'List the origins of your own pages, or require a login with `auth`',
      })
    },
  },
  {
    codes: ['weak-token'],
    on: 'router',
    check({ auth }, report, { isRepaired, path }) {
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
    },
  },
  ...NAME_CHECKS,
  ...FINDABLE_CHECKS,
  ...TOOL_CHECKS,
  ...HOST_CHECKS,
  {
    // Hidden characters in texts, which models read.
    codes: ['suspicious-text'],
    on: 'configuration',
    check(configuration, report, { read: { text } }) {
      if (cannotHide(text)) return
      for (const key of ['servers', 'tools', 'prompts', 'mcpServers'] as const)
        for (const [one, path] of textsIn(configuration[key] as unknown as Json, [key]))
          reportHidden(one, path, report)
    },
  },
  ...SHORT_FORM_CHECKS,
]

/** Runs the practice checks; sorted. Never throws. */
export function lintPractice(read: ReadConfiguration, options: CheckOptions = {}): Finding[] {
  return read.configuration ? sortFindings(runChecks(PRACTICE_CHECKS, read as Read, options)) : []
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

/** Syntax that can produce other characters than written: escapes and variables. */
const ESCAPE_OR_VARIABLE = /\\|\$\{/

/** Whether a text cannot contain anything hidden. */
function cannotHide(text: string): boolean {
  return !ESCAPE_OR_VARIABLE.test(text) && hiddenIn(text) === undefined
}

function reportHidden(text: string, path: Path, report: Reporter): void {
  const found = PROSE.has(path.at(-1)!) ? hiddenIn(text) : undefined
  if (found !== undefined)
    report({
      code: 'suspicious-text',
      path,
      message: `the text has a character that people do not see and models read (${found})`,
      hint: 'Delete it, or write the text again by hand',
    })
}

/** Keys of prose for models, which clients do not send back. */
const PROSE: ReadonlySet<string | number> = new Set(['title', 'description'])
