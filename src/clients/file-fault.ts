/** A file of a client that cannot be changed; the message names the place. */
export class FileFault extends Error {}

/** @param at offset in the text */
export function faultAt(file: string, text: string, at: number, message: string): FileFault {
  const before = text.slice(0, at)
  const line = before.split('\n').length
  const column = at - (before.lastIndexOf('\n') + 1) + 1
  return new FileFault(`${file}:${line}:${column}: ${message}; nothing was written`)
}
