import { type AuthorizeRule, asksForLogin, provesIssuers, type Router } from '../../config/index.ts'
import { type Path, type Reporter, type Suggestion, suggester } from '../../findings/index.ts'
import { quote, quoteSome, wildcards } from '../../text/index.ts'
import { type Context, toolNames } from '../check.ts'
import { checkScopes, SCOPE } from './value-rules.ts'

const KINDS = ['tools', 'prompts', 'resources'] as const
const DEMANDS = ['scopes', 'claims', 'callers'] as const
/** Maximum rules of a router, names of a rule, and characters of a name, as every call is checked against them. */
const MOST = 100
const LONGEST = 256
const MOST_WILDCARDS = 8

export function checkAuthorize(router: Router, report: Reporter, context: Context) {
  checkBound(router, report, context)
  const { authorize } = router
  if (!authorize) return
  const { server } = router
  const tools = typeof server === 'string' ? toolNames(server, context) : undefined
  const isRepaired = (at: Path) => context.isRepaired([...context.path, 'authorize', 'rules', ...at])
  checkRules(authorize.rules, ['authorize', 'rules'], report, isRepaired)
  const suggestTool = tools && suggester(tools)
  for (const [i, rule] of authorize.rules.slice(0, MOST).entries()) {
    const path = ['authorize', 'rules', i]
    if (suggestTool) checkTools(rule, tools, path, suggestTool, report)
    checkDemands(rule, router, path, report, context)
  }
}

/** Checks rules anywhere. @param isRepaired whether a value must be ignored, by its path in the rules */
export function checkRules(
  all: readonly AuthorizeRule[],
  at: Path,
  report: Reporter,
  isRepaired: (path: Path) => boolean = () => false,
) {
  const tooMany = (items: readonly unknown[], path: Path) => {
    if (items.length > MOST)
      report({
        code: 'invalid-value',
        path: [...path, MOST],
        message: `\`${path.at(-1)}\` has more than ${MOST} items`,
        hint: 'Write `*` for names that have something in common',
      })
  }
  tooMany(all, at)
  const rules = all.slice(0, MOST)
  for (const [i, rule] of rules.entries()) {
    const path = [...at, i]
    if (KINDS.every((kind) => rule[kind] === undefined && !isRepaired([i, kind])))
      report({
        code: 'missing-key',
        path,
        message: 'the rule names neither `tools` nor `prompts` nor `resources`',
        hint: 'Add one of them; `["*"]` names all',
      })
    for (const kind of KINDS) {
      tooMany(rule[kind] ?? [], [...path, kind])
      for (const [j, name] of (rule[kind] ?? []).slice(0, MOST).entries())
        checkName(name, [...path, kind, j], report)
    }
    checkWords(rule, path, report)
  }
  const sure = (i: number) => [...KINDS, ...DEMANDS].every((key) => !isRepaired([i, key]))
  checkCovered(rules, at, sure, report)
}

/** Scopes and claim names that no caller could have. */
function checkWords({ scopes = [], claims = {} }: AuthorizeRule, path: Path, report: Reporter) {
  checkScopes(scopes, [...path, 'scopes'], report)
  for (const name of Object.keys(claims))
    if (/^\/(?:.*~(?![01])|.{256})/s.test(name))
      report({
        code: 'invalid-value',
        path: [...path, 'claims', name],
        isKey: true,
        message: `${quote(name)} is not a JSON Pointer of at most 256 characters`,
        hint: 'Write `~0` for `~` and `~1` for `/` in a name of the path',
      })
}

/** Whether the tenant's rules allow anyone to use a router. */
function checkBound(router: Router, report: Reporter, { configuration, isRepaired, path, options }: Context) {
  if (isRepaired(['tenant']) || isRepaired([...path, 'auth'])) return
  const owner = options.tenants?.find(({ name }) => name === configuration.tenant)
  const rules = owner?.authorize?.rules ?? []
  const demanding = rules.filter((rule) => DEMANDS.some((key) => rule[key] !== undefined))
  if (!owner?.authorize || !demanding.length || owner.tokens.length) return
  const { auth } = router
  const asks = asksForLogin(router)
  if (asks ? auth && provesIssuers(auth) : options.clientCertificates) return
  const isClosed = owner.authorize.default === 'deny' && demanding.length === rules.length
  report({
    code: 'authorize-without-login',
    path: auth ? ['auth', 'type'] : ['prefix'],
    severity: isClosed ? 'error' : 'warning',
    message: asks
      ? `the rules of the tenant ${quote(owner.name)} in the settings ask who the caller is, and do not take the word of this \`auth\` for it`
      : `the rules of the tenant ${quote(owner.name)} in the settings ask who the caller is, but the router does not authenticate its callers`,
    hint: 'Use `type: jwt` without `jwksUrl`; or have `tokens` of the tenant or `tls.clientCa` in the settings',
  })
}

function checkName(name: string, path: Path, report: Reporter) {
  if (!isShort(name))
    report({
      code: 'invalid-value',
      path,
      message: `a name has at most ${LONGEST} characters, and ${MOST_WILDCARDS} times \`*\``,
      hint: 'Write several names',
    })
}

function isShort(name: string): boolean {
  return name.length <= LONGEST && name.split(/\*+/).length <= MOST_WILDCARDS + 1
}

function checkTools(
  { tools = [] }: AuthorizeRule,
  known: readonly string[],
  path: Path,
  suggestTool: (name: string) => Suggestion,
  report: Reporter,
) {
  for (const [j, name] of tools.slice(0, MOST).entries())
    if (!known.some(wildcards(name)) && isShort(name))
      report({
        code: 'rule-without-effect',
        path: [...path, 'tools', j],
        message: `${quote(name)} stands for no tool of the router`,
        hint: known.length ? `Tools here: ${quoteSome(known)}` : 'Add tools, or remove the rule',
        ...withoutFix(suggestTool(name)),
      })
}

/** Whether any caller can satisfy a rule. */
function checkDemands(rule: AuthorizeRule, router: Router, path: Path, report: Reporter, context: Context) {
  const { auth } = router
  const { configuration, options, isRepaired } = context
  if (isRepaired([...context.path, 'auth'])) return
  const shared = options.tenants?.find(({ name }) => name === configuration.tenant)?.tokens ?? []
  const isKnown = asksForLogin(router) || shared.length > 0
  const given = isKnown ? [] : DEMANDS.filter((key) => rule[key] !== undefined)
  for (const key of given)
    if (key !== 'callers' || !options.clientCertificates)
      report({
        code: 'authorize-without-login',
        path: [...path, key],
        message: options.clientCertificates
          ? `the rule asks for \`${key}\`, which client certificates do not have`
          : `the rule asks for \`${key}\`, but the router does not authenticate its callers`,
        hint: `${auth ? 'Write another `type` in `auth`' : 'Add `auth` to the router'}, or remove \`${key}\``,
      })
  if (auth?.type !== 'bearer') return
  // Tokens of the settings may be valid here too, if the settings are unknown.
  const tokens = [...auth.tokens, ...shared]
  const callers = new Set(tokens.map(({ caller }) => caller))
  const scopes = new Set(tokens.flatMap((token) => token.scopes ?? []))
  const suggestCaller = suggester([...callers])
  const never = (key: Path, what: string, hint: string) =>
    report({ code: 'rule-without-effect', path: [...path, ...key], message: what, hint })
  if (rule.claims)
    never(['claims'], 'tokens of `type: bearer` have no claims', 'Use `callers` or `scopes`, or `type: jwt`')
  for (const [j, scope] of (rule.scopes ?? []).entries())
    if (SCOPE.test(scope) && !scopes.has(scope))
      never(
        ['scopes', j],
        `no token of the router has the scope ${quote(scope)}`,
        'Add it to `scopes` of a token in `auth.tokens`',
      )
  for (const [j, name] of (rule.callers ?? []).entries())
    if (!callers.has(name))
      report({
        code: 'rule-without-effect',
        path: [...path, 'callers', j],
        message: `no token of the router has the caller ${quote(name)}`,
        hint: 'Write the `caller` of one of `auth.tokens`',
        ...withoutFix(suggestCaller(name)),
      })
}

/** A rule that names only items already allowed to everyone. */
function checkCovered(
  rules: readonly AuthorizeRule[],
  at: Path,
  sure: (index: number) => boolean,
  report: Reporter,
) {
  const isFree = (rule: AuthorizeRule) => DEMANDS.every((key) => rule[key] === undefined)
  for (const [i, rule] of rules.entries()) {
    const free = rules.findIndex(
      (other, k) => k !== i && sure(k) && isFree(other) && (k < i || !isFree(rule)) && covers(other, rule),
    )
    if (free >= 0 && KINDS.some((kind) => rule[kind]))
      report({
        code: 'rule-without-effect',
        path: [...at, i],
        message:
          'everyone may use already what this rule names: another rule allows it without any condition',
        hint: 'Rules only add to each other: name less in the other rule, or remove this one',
        related: { path: [...at, free], message: 'the other rule' },
      })
  }
}

function covers(wide: AuthorizeRule, narrow: AuthorizeRule): boolean {
  return KINDS.every((kind) =>
    (narrow[kind] ?? []).every((name) => wide[kind]?.some((one) => one === '*' || one === name)),
  )
}

/** `--fix` must not give access. */
function withoutFix({ fix: _, ...suggestion }: Suggestion): Suggestion {
  return suggestion
}
