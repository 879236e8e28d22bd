import {
  type AuthorizeRule,
  asksForLogin,
  type Configuration,
  type Router,
  serverNames,
} from '../../config/index.ts'
import { type Path, type Reporter, suggest } from '../../findings/index.ts'
import { quote, quoteAll, wildcards } from '../../text/index.ts'
import type { Check, Context } from '../check.ts'
import { SCOPE } from './auth.ts'

export const AUTHORIZE_CHECK: Check = {
  codes: ['authorize-without-login', 'rule-without-effect', 'missing-key', 'invalid-value'],
  on: 'router',
  check: checkAuthorize,
}

const KINDS = ['tools', 'prompts', 'resources'] as const
const DEMANDS = ['scopes', 'claims', 'callers'] as const
/** Rules of a router, names of a rule, and characters of a name: every call is judged by them. */
const MOST = 100
const LONGEST = 256
const MOST_WILDCARDS = 8
/** Names in a hint. */
const MOST_LISTED = 12

function checkAuthorize(router: Router, report: Reporter, context: Context) {
  const { authorize } = router
  if (!authorize) return
  const { rules } = authorize
  const tooMany = (items: readonly unknown[], path: Path) => {
    if (items.length > MOST)
      report({
        code: 'invalid-value',
        path: [...path, MOST],
        message: `\`${path.at(-1)}\` has more than ${MOST} items`,
        hint: 'Write `*` for names that have something in common',
      })
  }
  tooMany(rules, ['authorize', 'rules'])
  const isDoubtful = (at: Path) => context.doubtful([...context.path, 'authorize', 'rules', ...at])
  const tools = knownTools(router, context)
  for (const [i, rule] of rules.entries()) {
    const path = ['authorize', 'rules', i]
    if (KINDS.every((kind) => rule[kind] === undefined && !isDoubtful([i, kind])))
      report({
        code: 'missing-key',
        path,
        message: 'the rule names neither `tools` nor `prompts` nor `resources`',
        hint: 'Add one of them; `["*"]` names all',
      })
    for (const kind of KINDS) {
      tooMany(rule[kind] ?? [], [...path, kind])
      for (const [j, name] of (rule[kind] ?? []).entries()) checkName(name, [...path, kind, j], report)
    }
    if (tools) checkTools(rule, tools, path, report)
    checkDemands(rule, router, path, report, context)
  }
  const sure = (i: number) => [...KINDS, ...DEMANDS].every((key) => !isDoubtful([i, key]))
  checkCovered(rules, sure, report)
}

function checkName(name: string, path: Path, report: Reporter) {
  if (!isSound(name))
    report({
      code: 'invalid-value',
      path,
      message: `a name has at most ${LONGEST} characters, and ${MOST_WILDCARDS} times \`*\``,
      hint: 'Write several names',
    })
}

function isSound(name: string): boolean {
  return name.length <= LONGEST && name.split(/\*+/).length <= MOST_WILDCARDS + 1
}

/** Names of the HTTP tools behind a router; undefined: they are not known before a server is asked. */
function knownTools(router: Router, { configuration, doubtful }: Context): string[] | undefined {
  const { servers, tools } = configuration as Configuration
  const [name] = serverNames(router)
  const server = servers.find((one) => one.name === name)
  if (!server || doubtful(['tools']) || tools.some((_, i) => doubtful(['tools', i, 'name']))) return undefined
  return server.allowedTools ?? tools.map((tool) => tool.name)
}

function checkTools({ tools = [] }: AuthorizeRule, known: readonly string[], path: Path, report: Reporter) {
  for (const [j, name] of tools.entries())
    if (!known.some(wildcards(name)) && isSound(name))
      report({
        code: 'rule-without-effect',
        path: [...path, 'tools', j],
        message: `${quote(name)} stands for no tool of the router`,
        hint: known.length
          ? `Tools here: ${quoteAll(known.slice(0, MOST_LISTED))}`
          : 'Add tools, or remove the rule',
        ...meant(name, known),
      })
}

/** Whether what a rule demands of callers can be true of one. */
function checkDemands(rule: AuthorizeRule, router: Router, path: Path, report: Reporter, context: Context) {
  const { auth } = router
  const { configuration, options, doubtful } = context
  if (doubtful([...context.path, 'auth'])) return
  const shared = options.tenants?.find(({ name }) => name === configuration.tenant)?.tokens ?? []
  const isKnown = asksForLogin(router) || shared.length > 0
  const given = DEMANDS.filter((key) => rule[key] !== undefined)
  for (const key of isKnown ? [] : given)
    report({
      code: 'authorize-without-login',
      path: [...path, key],
      message: `the rule asks for \`${key}\`, but the router authenticates nobody`,
      hint: `${auth ? 'Write another `mode` in `auth`' : 'Add `auth` to the router'}, or remove \`${key}\``,
    })
  for (const [j, scope] of (rule.scopes ?? []).entries())
    if (!SCOPE.test(scope))
      report({
        code: 'invalid-value',
        path: [...path, 'scopes', j],
        message: `${quote(scope)} is not a scope: those have no spaces, quotes and backslashes`,
        hint: 'Write one item for each scope',
      })
  if (auth?.mode !== 'bearer') return
  // Tokens of the settings may be good here too, where the settings are not known.
  const tokens = [...auth.tokens, ...shared]
  const never = (key: Path, what: string, hint: string) =>
    report({ code: 'rule-without-effect', path: [...path, ...key], message: what, hint })
  if (rule.claims)
    never(['claims'], 'tokens of `mode: bearer` have no claims', 'Use `callers` or `scopes`, or `mode: jwt`')
  for (const [j, scope] of (rule.scopes ?? []).entries())
    if (SCOPE.test(scope) && !tokens.some(({ scopes }) => scopes?.includes(scope)))
      never(
        ['scopes', j],
        `no token of the router has the scope ${quote(scope)}`,
        'Add it to `scopes` of a token in `auth.tokens`',
      )
  for (const [j, name] of (rule.callers ?? []).entries())
    if (!tokens.some(({ caller }) => caller === name))
      report({
        code: 'rule-without-effect',
        path: [...path, 'callers', j],
        message: `no token of the router has the caller ${quote(name)}`,
        hint: 'Write the `caller` of one of `auth.tokens`',
        ...meant(
          name,
          tokens.map(({ caller }) => caller),
        ),
      })
}

/** A rule that names nothing but what an earlier or later rule gives to everyone. */
function checkCovered(rules: readonly AuthorizeRule[], sure: (index: number) => boolean, report: Reporter) {
  const isFree = (rule: AuthorizeRule) => DEMANDS.every((key) => rule[key] === undefined)
  for (const [i, rule] of rules.entries()) {
    const free = rules.findIndex(
      (other, k) => k !== i && sure(k) && isFree(other) && (k < i || !isFree(rule)) && covers(other, rule),
    )
    if (free >= 0 && KINDS.some((kind) => rule[kind]))
      report({
        code: 'rule-without-effect',
        path: ['authorize', 'rules', i],
        message:
          'everyone may use already what this rule names: another rule allows it without any condition',
        hint: 'Rules only add to each other: name less in the other rule, or remove this one',
        related: { path: ['authorize', 'rules', free], message: 'the other rule' },
      })
  }
}

function covers(wide: AuthorizeRule, narrow: AuthorizeRule): boolean {
  return KINDS.every((kind) =>
    (narrow[kind] ?? []).every((name) => wide[kind]?.some((one) => one === '*' || one === name)),
  )
}

/** Without a fix: nothing is made wider without somebody who reads it. */
function meant(word: string, names: readonly string[]): { suggestion?: string } {
  const { suggestion } = suggest(word, names)
  return suggestion === undefined ? {} : { suggestion }
}
