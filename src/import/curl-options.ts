import { shellWords } from '../text/index.ts'

/** Long names of short options. */
const SHORT: Readonly<Record<string, string>> = {
  ...{
    A: 'user-agent',
    C: 'continue-at',
    D: 'dump-header',
    E: 'cert',
    F: 'form',
    G: 'get',
    H: 'header',
    I: 'head',
  },
  ...{
    K: 'config',
    L: 'location',
    P: 'ftp-port',
    Q: 'quote',
    T: 'upload-file',
    U: 'proxy-user',
    X: 'request',
  },
  ...{ Y: 'speed-limit', b: 'cookie', c: 'cookie-jar', d: 'data', e: 'referer', g: 'globoff', h: 'help' },
  ...{ k: 'insecure', m: 'max-time', n: 'netrc', o: 'output', r: 'range', t: 'telnet-option', u: 'user' },
  ...{ w: 'write-out', x: 'proxy', y: 'speed-time', z: 'time-cond', ':': 'next' },
}
/** Long options with a value (curl 8.12). */
const WITH_VALUE = new Set(
  (
    'abstract-unix-socket alt-svc aws-sigv4 cacert capath cert cert-type ciphers config connect-timeout connect-to ' +
    'continue-at cookie cookie-jar create-file-mode crlfile curves data data-ascii data-binary data-raw data-urlencode ' +
    'delegation dns-interface dns-ipv4-addr dns-ipv6-addr dns-servers doh-url dump-header ech egd-file engine ' +
    'etag-compare etag-save expect100-timeout form form-string ftp-account ftp-alternative-to-user ftp-method ftp-port ' +
    'happy-eyeballs-timeout-ms haproxy-clientip header help hostpubmd5 hostpubsha256 hsts interface ip-tos ' +
    'ipfs-gateway json keepalive-cnt keepalive-time key key-type krb libcurl limit-rate local-port login-options ' +
    'mail-auth mail-from mail-rcpt max-filesize max-redirs max-time netrc-file noproxy oauth2-bearer output output-dir ' +
    'parallel-max pass pinnedpubkey postquote preproxy prequote proto proto-default proto-redir proxy proxy-cacert ' +
    'proxy-capath proxy-cert proxy-cert-type proxy-ciphers proxy-crlfile proxy-header proxy-key proxy-key-type proxy-pass ' +
    'proxy-pinnedpubkey proxy-service-name proxy-tls13-ciphers proxy-tlsauthtype proxy-tlspassword proxy-tlsuser proxy-user ' +
    'proxy1.0 pubkey quote random-file range rate referer request request-target resolve retry retry-delay retry-max-time ' +
    'sasl-authzid service-name socks4 socks4a socks5 socks5-gssapi-service socks5-hostname speed-limit speed-time stderr ' +
    'telnet-option tftp-blksize time-cond tls-max tls13-ciphers tlsauthtype tlspassword tlsuser trace trace-ascii ' +
    'trace-config unix-socket upload-file upload-flags url url-query user user-agent variable vlan-priority write-out'
  ).split(' '),
)

export type CurlOption = readonly [name: string, value: string]

/**
 * The options of each request in a curl command line, by long names; `--next` separates requests. A URL is the option
 * `url`.
 * @returns `fault`: why there are none
 */
export function curlOptions(line: string): { requests: CurlOption[][] } | { fault: string } {
  const words = shellWords(posixLine(line.trim().replace(/^(?:\$|>|PS [^>\n]{0,200}>)\s+/, '')))
  if (!words) return { fault: 'it is not one command line: a quote is not closed, or it needs a shell' }
  if (!/(?:^|[\\/])curl(?:\.exe)?$/i.test(words[0] ?? '')) return { fault: 'it does not begin with `curl`' }
  const requests: CurlOption[][] = [[]]
  const add = (name: string, value: string) =>
    name === 'next' ? requests.push([]) : requests.at(-1)!.push([name, value])
  for (let i = 1; i < words.length; i++) {
    const word = words[i]!
    const [, long, short = ''] = /^(?:--([\s\S]+)|-([\s\S]+))$/.exec(word) ?? []
    if (long?.includes('='))
      return {
        fault: `curl has no option \`--${long.split('=')[0]}=…\`: write the value as a word of its own`,
      }
    const takesValue = (name: string) => WITH_VALUE.has(name) || name.startsWith('expand-')
    if (long !== undefined) add(long, takesValue(long) ? (words[++i] ?? '') : '')
    else if (short === '') add('url', word)
    else {
      // Flags can be combined: `-sSL`, `-XPOST`.
      for (let at = 0; at < short.length; at++) {
        const letter = short[at]!
        const name = Object.hasOwn(SHORT, letter) ? SHORT[letter]! : letter
        if (!takesValue(name)) add(name, '')
        else {
          const value = short.slice(at + 1)
          add(name, value === '' ? (words[++i] ?? '') : value)
          break
        }
      }
    }
  }
  return { requests }
}

/** Converts browsers' commands for `cmd` and PowerShell to POSIX shell syntax. */
function posixLine(line: string): string {
  if (/\^\r?\n|\^"/.test(line))
    return line
      .replace(/\^\r?\n\r?\n/g, '\n')
      .replace(/\^\r?\n/g, ' ')
      .replace(/\^([\s\S])/g, '$1')
  if (/`\r?\n/.test(line))
    return (
      line
        .replace(/`\r?\n/g, ' ')
        // Also matches an unclosed quote, to avoid a quadratic search for its end.
        .replace(/'((?:[^']|'')*)('?)|"(?:[^"`]|`[\s\S]?)*"?/g, (text, inner: string | undefined, end) => {
          if (inner === undefined) return text.replace(/`"/g, '\\"')
          return end === '' ? text : inner.split("''").map(quoted).join("\\'")
        })
    )
  return line.replace(/\\\r\n/g, '\\\n')
}

function quoted(text: string): string {
  return `'${text}'`
}
