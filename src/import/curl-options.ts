import { shellWords } from '../text/index.ts'
import OPTIONS from './curl-options.json' with { type: 'json' }

/** Long names of short options, and long options with a value (curl 8.12). */
const SHORT: Readonly<Record<string, string>> = OPTIONS.short
const WITH_VALUE = new Set(OPTIONS.withValue.split(' '))

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
  const hasUrl = (options: CurlOption[]) => options.some(([name]) => name === 'url')
  return requests.every(hasUrl) ? { requests } : { fault: 'it has no URL' }
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
