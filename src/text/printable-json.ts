/** Characters that control a terminal and that JSON leaves unescaped. */
const UNESCAPED = /[\u007f-\u009f\u061c\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]/g
/** The only one of them in ASCII. */
const DELETE = '\u007f'

/** The same JSON with escapes for what would steer a terminal, or end a line for some readers. */
export function printableJson(json: string): string {
  // Nearly every line of a log is ASCII, which its size shows.
  if (Buffer.byteLength(json) === json.length && !json.includes(DELETE)) return json
  return json.replace(UNESCAPED, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
