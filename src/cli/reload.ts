import { Command } from 'commander'
import { type Notifier, readSettings, type Settings, type SettingsFlags } from '../config/index.ts'
import { hasErrors } from '../findings/index.ts'
import { notify } from '../notify/send.ts'
import { printFindings } from './print.ts'
import { settingsSource } from './settings.ts'

interface ReloadFlags extends SettingsFlags {
  settings?: string
}

export function reloadCommand(exit: (code: number) => void): Command {
  return new Command('reload')
    .description(
      'Tell gateways to read their configurations again: by the `notifier` of the settings, or a pid file.',
    )
    .argument('[name]', 'the configuration that changed (default: all; a signal says no name)')
    .option('-s, --settings <file>', 'settings file with a `notifier` or a `pid`, such as plantgw.yaml')
    .option('--pid <file>', 'send SIGHUP to the gateway of this pid file')
    .action(async (name: string | undefined, flags: ReloadFlags) => exit(await reload(name, flags)))
}

/** Tells the gateways; 1 where one that answers refused something or tells of an error. */
async function reload(name: string | undefined, flags: ReloadFlags): Promise<number> {
  const source = settingsSource(flags.settings)
  const { settings, findings } = readSettings(source, process.env, flags)
  if (findings.length) printFindings(findings, new Map(source ? [[source.file, source.text]] : []))
  if (!settings || hasErrors(findings)) return findings.some(({ file }) => file !== source?.file) ? 2 : 1
  const { line, refused, fault } = await notify(notifierOf(settings, flags), name)
  process.stdout.write(`${line}\n`)
  const told = refused ? `it refused ${refused.join(', ')}: its log says why` : fault
  if (told !== undefined) process.stderr.write(`plantgw: ${told}\n`)
  return told === undefined ? 0 : 1
}

function notifierOf({ notifier, pid }: Settings, flags: ReloadFlags): Notifier {
  if (flags.pid === undefined && notifier) return notifier
  if (pid === undefined) throw new Error('give --pid, or settings with a `notifier` or a `pid`')
  return { type: 'signal', signal: { signal: 'SIGHUP', pid } }
}
