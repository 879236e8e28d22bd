import type { Auth, Issuer, Router } from '../../config/index.ts'
import type { Path, Reporter } from '../../findings/index.ts'
import { quote, repeats } from '../../text/index.ts'
import { type Context, withoutEffect } from '../check.ts'
import { checkScopes, checkTokens, reportUrl } from './value-rules.ts'

type Type = Auth['type']

const OAUTH: readonly Type[] = ['jwt', 'introspection']
/** Types that use a key; with other types it has no effect. */
const USED_BY: Partial<Record<keyof Auth, readonly Type[]>> = {
  tokens: ['bearer'],
  issuers: OAUTH,
  audience: OAUTH,
  scopes: OAUTH,
  caller: OAUTH,
  cacheTtl: ['introspection'],
}
const ISSUER_KEYS: Partial<Record<keyof Issuer, readonly Type[]>> = {
  jwksUrl: ['jwt'],
  algorithms: ['jwt'],
  introspectionUrl: ['introspection'],
  clientId: ['introspection'],
  clientSecret: ['introspection'],
}

export function checkAuth({ auth }: Router, report: Reporter, context: Context) {
  if (!auth) return
  const { type, tokens, issuers } = auth
  const { read, path, isRepaired } = context
  const isGiven = (key: Path) => read.locate.has([...path, 'auth', ...key])
  if (isRepaired([...path, 'auth', 'type'])) return
  reportWithoutEffect(USED_BY, [], type, isGiven, report)
  const missing = (key: string, hint: string) =>
    report({
      code: 'missing-key',
      path: ['auth', isGiven([key]) ? key : 'type'],
      missing: [key],
      message: `\`auth\` with \`type: ${type}\` needs at least one ${key === 'tokens' ? 'token' : 'issuer'}`,
      hint,
    })
  if (type === 'bearer' && tokens.length === 0)
    missing('tokens', 'Add `tokens: [{token: "${NAME}", caller: …}]`')
  checkTokens(tokens, ['auth', 'tokens'], report)
  if (!OAUTH.includes(type)) return
  if (issuers.length === 0) missing('issuers', 'Add `issuers: [{issuer: https://…}]`')
  for (const [i, issuer] of issuers.entries()) {
    reportWithoutEffect(ISSUER_KEYS, ['issuers', i], type, isGiven, report)
    checkIssuer(issuer, ['auth', 'issuers', i], report)
  }
  checkDuplicates(issuers, report)
  if (type === 'introspection') checkIntrospection(issuers, report)
  checkScopes(auth.scopes, ['auth', 'scopes'], report)
}

function reportWithoutEffect(
  usedBy: Readonly<Record<string, readonly Type[]>>,
  at: Path,
  type: Type,
  isGiven: (key: Path) => boolean,
  report: Reporter,
) {
  for (const [key, types] of Object.entries(usedBy))
    if (!types.includes(type) && isGiven([...at, key]))
      report(
        withoutEffect(
          ['auth', ...at, key],
          `with \`type: ${type}\``,
          `Remove it, or write \`type: ${types[0]}\``,
        ),
      )
}

function checkIssuer({ issuer, jwksUrl, introspectionUrl }: Issuer, path: Path, report: Reporter) {
  for (const [key, url] of Object.entries({ issuer, jwksUrl, introspectionUrl }))
    if (url !== undefined) reportUrl(url, [...path, key], report)
  if (URL.canParse(issuer) && new URL(issuer).search)
    report({
      code: 'invalid-value',
      path: [...path, 'issuer'],
      message: '`issuer` has a query, which issuer identifiers do not have (RFC 8414, 2)',
      hint: 'Copy `issuer` of the metadata of the authorization server',
    })
}

function checkDuplicates(issuers: readonly Issuer[], report: Reporter) {
  const names = issuers.map(({ issuer }) => issuer)
  for (const [i, first] of repeats(names))
    report({
      code: 'duplicate-name',
      path: ['auth', 'issuers', i, 'issuer'],
      message: `the router names the issuer ${quote(names[i]!)} twice`,
      hint: 'Remove one of the two',
      related: { path: ['auth', 'issuers', first, 'issuer'], message: 'the first one' },
    })
}

function checkIntrospection(issuers: readonly Issuer[], report: Reporter) {
  if (issuers.length > 1)
    report({
      code: 'invalid-value',
      path: ['auth', 'issuers', 1],
      message: 'with `type: introspection` there is one issuer',
      hint: 'A token does not say who issued it, and must not be sent to others: write a router for each issuer',
    })
  const [first] = issuers
  for (const key of ['clientId', 'clientSecret'] as const)
    if (first && first[key] === undefined)
      report({
        code: 'missing-key',
        path: ['auth', 'issuers', 0, 'issuer'],
        missing: [key],
        message: `introspection needs \`${key}\``,
        hint: 'Register the gateway as a client at the authorization server (RFC 7662, 2.1)',
      })
}
