import { parse } from '../../../src/json/index.ts'
import { CallError } from '../../../src/tools/failure.ts'
import { argParts, type Part, PartWriter } from '../../../src/tools/multipart.ts'
import { holds, type Target } from '../target.ts'

export const multipart: Target = {
  name: 'multipart',
  about: 'form-data arguments, read back by an independent reader',
  tokens: [
    ...[
      'data:',
      'data:,',
      'data:text/plain,',
      'data:image/png;base64,',
      ';name=',
      ';filename=',
      'iVBORw0KGgo=',
      '%0d%0a',
    ],
    ...[
      '"filename":"',
      '"contentType":"',
      '"data":"',
      '--plantgw-',
      '\\r\\n',
      '\r\n',
      '\r\n--',
      '"',
      '%22',
      '%',
      ';',
    ],
    ...[
      'Content-Disposition: form-data; name="x"',
      'text/html; charset="a',
      '[',
      ']',
      '\\u0000',
      '=',
      '{"data":""}',
    ],
  ],
  ciRuns: 15_000,
  async start() {
    return { run }
  },
}

/** The first line is the argument's name; the rest is its value, as JSON or as text. */
function run(input: string): void {
  const [first = '', ...rest] = input.split('\n')
  const name = unescaped(first)
  const text = rest.join('\n')
  let value: ReturnType<typeof parse>
  try {
    value = parse(text)
  } catch {
    value = text
  }
  let parts: Part[]
  try {
    parts = [...argParts(name, value)]
  } catch (error) {
    holds(error instanceof CallError, 'something else than a CallError is thrown')
    return
  }
  const writer = new PartWriter()
  for (const part of parts) writer.write(part)
  const { body, contentType } = writer.end()
  const boundary = /^multipart\/form-data; boundary=([\w-]{1,70})$/.exec(contentType)?.[1]
  holds(boundary, 'the content type names no boundary')
  const read = readParts(body, boundary)
  holds(read.length === parts.length, 'the body has another number of parts')
  for (const [i, part] of parts.entries()) {
    const { headers, data } = read[i]!
    const sent = [`Content-Disposition`, ...(part.contentType === undefined ? [] : ['Content-Type'])]
    holds(headers.map(({ name }) => name).join() === sent.join(), 'a part has other headers')
    const wanted = [['name', wire(part.name.replace(/\r\n|\r|\n/g, '\r\n'))]]
    if (part.filename !== undefined) wanted.push(['filename', wire(part.filename)])
    holds(
      JSON.stringify(parametersOf(headers[0]!.value)) === JSON.stringify(wanted),
      'a part has another name',
    )
    if (part.contentType !== undefined)
      holds(headers[1]!.value === part.contentType, 'a part has another type')
    holds(data.equals(Buffer.from(part.data as string)), 'a part has other data')
  }
}

interface ReadPart {
  headers: { name: string; value: string }[]
  data: Buffer
}

/** RFC 7578 and RFC 2046, 5.1: what stands between the delimiters. */
function readParts(body: Buffer, boundary: string): ReadPart[] {
  const parts: ReadPart[] = []
  const delimiter = Buffer.from(`\r\n--${boundary}`)
  const all = Buffer.concat([Buffer.from('\r\n'), body])
  let at = all.indexOf(delimiter)
  holds(at === 0, 'the body does not begin with its delimiter')
  for (;;) {
    const start = at + delimiter.length
    const after = all.toString('latin1', start, start + 2)
    if (after === '--') {
      holds(all.toString('latin1', start + 2) === '\r\n', 'something follows the last part')
      return parts
    }
    holds(after === '\r\n', 'something follows a delimiter')
    at = all.indexOf(delimiter, start)
    holds(at > 0, 'a part does not end')
    const part = all.subarray(start + 2, at)
    const end = part.indexOf('\r\n\r\n')
    holds(end > 0, 'a part has no end of headers')
    const headers = part
      .toString('utf8', 0, end)
      .split('\r\n')
      .map((line) => {
        const colon = line.indexOf(': ')
        return { name: line.slice(0, colon), value: line.slice(colon + 2) }
      })
    parts.push({ headers, data: part.subarray(end + 4) })
  }
}

function parametersOf(disposition: string): string[][] {
  holds(/^form-data(?:; \w+="[^"\r\n]*")+$/.test(disposition), 'a disposition is malformed')
  return [...disposition.matchAll(/; (\w+)="([^"]*)"/g)].map(([, name, value]) => [name!, decoded(value!)])
}

/** The escapes of WHATWG HTML, back. */
function decoded(value: string): string {
  return value.replaceAll('%0D', '\r').replaceAll('%0A', '\n').replaceAll('%22', '"').replaceAll('%00', '\0')
}

/** A name as it can come back: UTF-8 has no lone surrogates, and what was an escape before is read as one. */
function wire(text: string): string {
  return decoded(Buffer.from(text).toString())
}

function unescaped(text: string): string {
  return text.replaceAll('\\r', '\r').replaceAll('\\n', '\n')
}
