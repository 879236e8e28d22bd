import { existsSync } from 'node:fs'
import { Command } from 'commander'
import { CODES, explain, type FindingCode, listCodes } from '../findings/index.ts'
import { nearest } from '../text/index.ts'
import { wantsColor } from './output.ts'
import { environmentOption } from './settings.ts'

export function explainCommand(exit: (code: number) => void): Command {
  return new Command('explain')
    .description(
      'Explain what a finding means and how to fix it, with examples, or which secrets a configuration has masked in answers.',
    )
    .argument(
      '[code]',
      'the code in brackets after a finding, or a configuration file (default: list all codes)',
    )
    .addOption(environmentOption())
    .action(async (given: string | undefined, { settings }: { settings?: string }) => {
      if (given === undefined || !existsSync(given)) return exit(explainCode(given))
      exit(await (await import('./masked-secrets.ts')).explainMasks(given, settings))
    })
}

function explainCode(code: string | undefined): number {
  if (code === undefined) {
    process.stdout.write(listCodes())
    return 0
  }
  const name = code.replace(/^\[(.*)\]$/, '$1').toLowerCase()
  if (!Object.hasOwn(CODES, name)) {
    if (/[/\\]|\.(?:ya?ml|json)$/.test(code)) throw new Error(`cannot read ${code}: no such file`)
    const close = nearest(name, Object.keys(CODES))
    const hint = close ? `did you mean ${close}?` : '`plantgw explain` lists all codes'
    throw new Error(`unknown finding ${JSON.stringify(code)}: ${hint}`)
  }
  process.stdout.write(explain(name as FindingCode, { color: wantsColor(process.stdout) }))
  return 0
}
