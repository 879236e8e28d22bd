import { ISSUED } from '../../text/index.ts'

/** One combined pattern is much faster than many. */
const ANY_ISSUED = new RegExp(String.raw`\b(?:${ISSUED.map(([, form]) => form).join('|')})`, 'g')

const IN_URL = /\b[a-z][a-z\d+.-]{1,20}:\/\/[^\s:@/"'${}]{1,64}:([^\s:@/"'${}]{3,128})(?=@)/gi

/** Other formats, each with a part that every match contains; the secret is the end of the match, or its group. */
const FORMS: readonly [what: string, part: string, form: RegExp][] = [
  ['a private key', 'PRIVATE KEY-----', /-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----[^-"']{0,8192}/g],
  [
    'a webhook of Slack',
    'hooks.slack.com',
    /\bhooks\.slack\.com\/services\/(\w{6,16}\/\w{6,16}\/\w{16,64})/g,
  ],
  ['a token of Terraform', '.atlasv1.', /\.atlasv1\.([\w-]{60,80})/g],
  ['a JSON Web Token', 'eyJ', /\beyJ[\w-]{10,2048}\.eyJ[\w-]{10,4096}\.[\w-]{10,2048}/g],
  ['a password in a URL', '@', IN_URL],
]

/** Placeholders for issued secrets; words such as `test` may occur in a real one by chance. */
const MASKED = /x{4}|\*{3}|<|\{\{|\$\{|your|example|placeholder|([a-z0-9])\1{7}/i
/** Placeholders for passwords. */
export const PLACEHOLDER =
  /example|change[-_ ]?me|replace|your[-_ ]|x{4}|\*{3}|\.{3}|placeholder|dummy|sample|fake|demo|test|todo|<|\{\{|\$\{/i

/** All parts of a text in the format of a secret. */
export function* issuedSecrets(text: string): Generator<{ what: string; start: number; secret: string }> {
  for (const { 0: secret, index: start } of text.matchAll(ANY_ISSUED)) {
    if (MASKED.test(secret)) continue
    const [issuer] = ISSUED.find(([, form]) => new RegExp(`^(?:${form})`).test(secret)) ?? ['an issuer']
    yield { what: `a token of ${issuer}`, start, secret }
  }
  for (const [what, part, form] of FORMS) {
    if (!text.includes(part)) continue
    for (const { 0: match, 1: secret = match, index } of text.matchAll(form))
      if (!(form === IN_URL ? PLACEHOLDER : MASKED).test(secret))
        yield { what, start: index + match.length - secret.length, secret }
  }
}
