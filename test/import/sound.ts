import { check } from '../../src/build/check-configurations.ts'
import { applyIgnores, checkOf } from '../../src/findings/index.ts'

/** All that `plantgw validate` finds in a text with these variables set, as `code: message`. */
export async function findingsIn(text: string, env: Record<string, string> = {}): Promise<string[]> {
  const checked = await check(['-'], { env, practice: { production: true }, stdin: () => Buffer.from(text) })
  const found = applyIgnores(checked.findings, checked.sources, {
    ran: (code) => checkOf(code) !== 'endpoints',
  })
  return found.map(({ code, message }) => `${code}: ${message}`)
}
