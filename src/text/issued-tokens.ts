/** Patterns of known secrets, by their issuers' prefixes. */
export const ISSUED: readonly [issuer: string, form: string][] = [
  ['GitHub', String.raw`gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_\w{60,255}`],
  ['GitLab', String.raw`gl(?:pat|ptt|dt|rt|cbt|ft|soat|agent)-[\w-]{20,64}`],
  ['Slack', String.raw`xox[abeoprs]-[A-Za-z0-9-]{20,255}|xapp-\d-[A-Za-z0-9]{8,16}-\d{8,16}-[a-z0-9]{40,80}`],
  ['AWS', String.raw`(?:AKIA|ASIA)[A-Z0-9]{16}\b`],
  ['Google', String.raw`AIza[\w-]{35}|GOCSPX-[\w-]{28}|ya29\.[\w-]{30,1024}`],
  // OpenAI, Anthropic, OpenRouter and others; Groq; xAI; Perplexity.
  [
    'a model provider',
    String.raw`sk-(?:[a-z]{2,12}\d*-)*[\w-]{32,255}|gsk_[A-Za-z0-9]{52}|xai-[A-Za-z0-9]{70,90}|pplx-[A-Za-z0-9]{48}`,
  ],
  ['Stripe', '[rs]k_live_[A-Za-z0-9]{20,255}|whsec_[A-Za-z0-9+/=]{24,64}'],
  ['npm', String.raw`npm_[A-Za-z0-9]{36}\b`],
  ['PyPI', String.raw`pypi-AgE[\w-]{50,255}`],
  ['RubyGems', 'rubygems_[0-9a-f]{48}'],
  ['Docker', String.raw`dckr_[op]at_[\w-]{27}`],
  ['SendGrid', String.raw`SG\.[\w-]{16,64}\.[\w-]{16,64}`],
  ['Hugging Face', String.raw`hf_[A-Za-z0-9]{30,64}\b`],
  ['Twilio', String.raw`SK[0-9a-f]{32}\b`],
  ['Mailgun', String.raw`key-[0-9a-f]{32}\b`],
  ['DigitalOcean', 'do[opr]_v1_[0-9a-f]{64}'],
  ['Shopify', 'shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}'],
  ['Square', String.raw`sq0(?:atp|csp|idp)-[\w-]{22,43}`],
  ['Telegram', String.raw`\d{8,10}:AA[\w-]{33}`],
  ['Discord', String.raw`[MNO][\w-]{23,25}\.[\w-]{6}\.[\w-]{27,38}`],
  ['Atlassian', String.raw`ATATT3[\w=-]{60,255}`],
  ['Linear', 'lin_api_[A-Za-z0-9]{40}'],
  ['Notion', String.raw`(?:ntn|secret)_[A-Za-z0-9]{43,50}\b`],
  ['Airtable', String.raw`pat[A-Za-z0-9]{14}\.[0-9a-f]{64}`],
  ['Figma', String.raw`figd_[\w-]{40}`],
  ['Postman', 'PMAK-[0-9a-f]{24}-[0-9a-f]{34}'],
  ['Databricks', 'dapi[0-9a-f]{32}'],
  ['Vault', String.raw`hv[sb]\.[\w-]{24,255}`],
  ['Doppler', String.raw`dp\.(?:pt|st|sa)\.[\w.-]{40,64}`],
  ['Grafana', String.raw`gl(?:sa|c)_[\w+/=]{32,255}`],
  ['New Relic', 'NRAK-[A-Z0-9]{27}'],
  ['Sentry', String.raw`sntr[yu]s?_[\w+/=-]{60,255}`],
  ['Dynatrace', String.raw`dt0c01\.[A-Z0-9]{24}\.[A-Z0-9]{64}`],
  ['Heroku', String.raw`HRKU-[\w-]{36,64}`],
  ['Supabase', 'sbp_[0-9a-f]{40}'],
  ['Pulumi', 'pul-[0-9a-f]{40}'],
  ['age', 'AGE-SECRET-KEY-1[A-Z0-9]{58}'],
]

/** Not within a word. In JSON text an escape may precede a token. */
const START = String.raw`(?:(?<=\\[bfnrt])|(?<![\w\\]))`
/** At the beginning of its word only: every other `eyJ` in it would be looked from once more. */
const JWT = String.raw`(?:(?<=\\[bfnrt])|(?<![-\w\\]))eyJ[\w-]{10,2048}\.eyJ[\w-]{10,4096}\.[\w-]{10,2048}`
/** Its lines end as they do, or as JSON writes that. */
const PEM = String.raw`-----BEGIN (?:[A-Z]+ ){0,4}PRIVATE KEY-----(?:[\sA-Za-z\d+/=]|\\[nrt/]){0,8000}(?:-----END (?:[A-Z]+ ){0,4}PRIVATE KEY-----)?`
/** A password in a URL. */
const LOGIN = String.raw`(?<=${START}[a-z][a-z\d+.-]{1,20}:\/\/[^\s:@/"'{}$]{0,64}:)[^\s:@/"'{}$]{3,128}(?=@)`
const KNOWN = new RegExp(
  `(?<token>${START}(?:${ISSUED.map(([, form]) => form).join('|')}))|(?<jwt>${JWT})|(?<key>${PEM})|(?<login>${LOGIN})`,
  'g',
)
/** Base64 or Base64url, also with slashes and ends of lines as JSON writes them; not within a longer word. */
const BASE64 = /(?:(?<=\\[bfnrt])|(?<![\w\\+/=-]))[\w+/-](?:[\w+/-]|\\[n/]){23,7999}={0,2}(?![\w+/=-])/g

/** Characters of the longest match, and of what decides whether it is one. */
export const LONGEST_KNOWN = 8_500
/** No match goes across one of these, but for a private key. */
export const BETWEEN_TOKENS = /[\s"'{}$]/

export type SecretKind = 'token' | 'jwt' | 'private-key' | 'url-password'

interface KnownSecret {
  start: number
  end: number
  kind: SecretKind
}

/**
 * Known secrets in a text, or in Base64 in it, in order and without overlap. If the replacement has only
 * characters that JSON does not escape, JSON stays valid. Linear time.
 */
export function knownSecrets(text: string): KnownSecret[] {
  const found = Array.from(text.matchAll(KNOWN), placeOf)
  const encoded = inBase64(text)
  if (!encoded.length) return found
  let last = 0
  return [...found, ...encoded]
    .sort((a, b) => a.start - b.start)
    .filter(({ start, end }) => {
      const isApart = start >= last
      if (isApart) last = end
      return isApart
    })
}

/** Replaces secrets. */
export const SHOWN = '***'

/** The text without known secrets. */
export function withoutKnown(text: string, onFound?: (kind: SecretKind) => void): string {
  let shown = ''
  let from = 0
  for (const { start, end, kind } of knownSecrets(text)) {
    shown += text.slice(from, start) + SHOWN
    from = end
    onFound?.(kind)
  }
  return from === 0 ? text : shown + text.slice(from)
}

function placeOf({ 0: { length }, index: start, groups }: RegExpExecArray): KnownSecret {
  const { token, jwt, key } = groups as Record<string, string | undefined>
  const kind =
    token !== undefined
      ? 'token'
      : jwt !== undefined
        ? 'jwt'
        : key !== undefined
          ? 'private-key'
          : 'url-password'
  return { start, end: start + length, kind }
}

function inBase64(text: string): KnownSecret[] {
  const found: KnownSecret[] = []
  let decoded = 0
  for (const { 0: run, index: start } of text.matchAll(BASE64)) {
    // Maximum characters of Base64: of one run, and of all runs in a text.
    if (run.length > 8_000) continue
    decoded += run.length
    if (decoded > 1024 * 1024) break
    const plain = run.includes('\\') ? run.replace(/\\n|\\(?=\/)/g, '') : run
    const [secret] = Buffer.from(plain, 'base64').toString('latin1').matchAll(KNOWN)
    if (secret) found.push({ start, end: start + run.length, kind: placeOf(secret).kind })
  }
  return found
}
