import { Command } from 'commander'
import { readSettings } from '../config/index.ts'
import { exitCode } from '../findings/index.ts'
import { check } from '../gateway/check.ts'
import { type Format, fileCount, formatOption, report } from './report.ts'
import { settingsSource } from './settings.ts'

interface ValidateFlags {
  settings?: string
  format: Format
}

export function validateCommand(exit: (code: number) => void): Command {
  return new Command('validate')
    .description('Find what is wrong with configurations before they are served.')
    .argument('<paths...>', 'configuration files, and folders of them; - for standard input')
    .option('-s, --settings <file>', 'check this settings file too')
    .addOption(formatOption())
    .action(async (paths: string[], flags: ValidateFlags) => exit(await validate(paths, flags)))
}

async function validate(paths: readonly string[], flags: ValidateFlags): Promise<number> {
  const source = settingsSource(flags.settings)
  const { settings, findings: ofSettings } = source
    ? readSettings(source, process.env)
    : { settings: undefined, findings: [] }
  const { findings, sources, files } = await check(paths, { env: process.env, ...(settings && { settings }) })
  const all = [...ofSettings, ...findings]
  const texts = new Map([...(source ? [[source.file, source.text] as const] : []), ...sources])
  process.stdout.write(report(all, texts, flags.format, `${fileCount(files)}, nothing wrong`))
  return exitCode(all)
}
