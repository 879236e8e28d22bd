import type { Readable } from 'node:stream'

/** Characters of a line that is passed on in pieces. */
const MAX_LINE = 1024 * 1024

/** Passes on what a process writes, whole lines at a time, so that those of several processes do not mix. */
export function passLines(from: Readable, to: (lines: string) => void): void {
  let rest = ''
  from.setEncoding('utf8')
  from.on('data', (text: string) => {
    const end = text.lastIndexOf('\n') + 1
    if (end > 0) {
      to(rest + text.slice(0, end))
      rest = text.slice(end)
    } else rest += text
    if (rest.length <= MAX_LINE) return
    to(`${rest}\n`)
    rest = ''
  })
  from.on('end', () => {
    if (rest) to(`${rest}\n`)
  })
  from.on('error', () => {})
}
