import { join } from 'node:path'
import { Command } from 'commander'
import { importUnlaSettings } from '../../import/unla-settings.ts'
import { shellWord } from '../../text/index.ts'
import { fetchText } from './fetch-text.ts'
import { finish, type OutputFlags, refuse, withEnv } from './report.ts'

export function unlaCommand(exit: (code: number) => void): Command {
  const command = new Command('unla')
    .description(
      'Make settings from a settings file of Unla (mcp-gateway.yaml). Its configurations need no import: check them with plantgw validate --fix.',
    )
    .argument('<file>', 'file, - for standard input')
    .action(async (from: string, flags: OutputFlags) => exit(await importUnla(from, flags)))
  return withEnv(command)
}

async function importUnla(from: string, flags: OutputFlags): Promise<number> {
  const source = await fetchText(from)
  const made = importUnlaSettings(source)
  if (made.findings || made.fault !== undefined)
    return refuse(made, source, `${from} is not a settings file of Unla`)
  const file = join(flags.output ?? '', 'plantgw.yaml')
  const { notes, variables, folder = '' } = made
  const settings = ['--settings', file, ...(folder ? [folder] : [])].map(shellWord).join(' ')
  return finish(
    {
      code: 0,
      lines: [`${from}: settings of Unla`, ...notes.map(({ key, note }) => `  ${key}: ${note}`)],
      files: new Map([[file, { text: made.text, about: '' }]]),
      variables,
      next: { validate: `--fix ${settings}`, serve: settings },
      json: { notes, ...(flags.output === undefined ? { text: made.text } : { file }) },
    },
    flags,
  )
}
