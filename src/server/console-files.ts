import { readFileSync } from 'node:fs'

/** Files of the console for browsers, and their media types; found by the depth of this file, which is that of the bundle. */
export const CONSOLE_FILES: Readonly<Record<string, string>> = {
  'browser.css': 'text/css; charset=UTF-8',
  'browser.js': 'text/javascript; charset=UTF-8',
  'editor.js': 'text/javascript; charset=UTF-8',
}

/** The text of one of `CONSOLE_FILES`. */
export function consoleFile(name: string): string {
  // The build makes it of many files.
  const folder = name === 'editor.js' ? '../../dist/server/console' : '../server/console'
  return readFileSync(new URL(`${folder}/${name}`, import.meta.url), 'utf8')
}
