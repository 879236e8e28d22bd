import { Command } from 'commander'
import { readSettings, type SettingsFlags } from '../config/index.ts'
import { hasErrors } from '../findings/index.ts'
import { sendReloadSignal } from '../notify/signal.ts'
import { printFindings } from './print.ts'
import { settingsSource } from './settings.ts'

interface ReloadFlags extends SettingsFlags {
  settings?: string
}

export function reloadCommand(exit: (code: number) => void): Command {
  return new Command('reload')
    .description('Tell the gateway of a pid file on this machine to read its configurations again.')
    .option('-s, --settings <file>', 'settings file with a `pid`, such as plantgw.yaml')
    .option('--pid <file>', 'the pid file (default: the `pid` of the settings)')
    .action((flags: ReloadFlags) => exit(reload(flags)))
}

/** Sends the signal; what came of the reload stands in the gateway's log. */
function reload(flags: ReloadFlags): number {
  const source = settingsSource(flags.settings)
  const { settings, findings } = readSettings(source, process.env, flags)
  if (findings.length) printFindings(findings, new Map(source ? [[source.file, source.text]] : []))
  if (!settings || hasErrors(findings)) return findings.some(({ file }) => file !== source?.file) ? 2 : 1
  if (settings.pid === undefined) throw new Error('give --pid, or settings with a `pid`')
  const pid = sendReloadSignal(settings.pid)
  process.stdout.write(`sent SIGHUP to process ${pid}: its log says what changed\n`)
  return 0
}
