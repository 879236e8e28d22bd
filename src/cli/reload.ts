import { Command } from 'commander'
import type { Notifier, Settings, SettingsFlags } from '../config/index.ts'
import { notify } from '../notify/send.ts'
import { printable, printableLines } from '../text/index.ts'
import { adminUrlOf, loadSettings, settingsOption } from './settings.ts'

interface ReloadFlags extends SettingsFlags {
  settings?: string
}

export function reloadCommand(exit: (code: number) => void): Command {
  return new Command('reload')
    .description(
      'Make gateways reload their configurations, and print the outcome. They are reached by the `notifier` of the settings, else `admin.listen`, else the pid file, else host and port.',
    )
    .argument('[name]', 'the configuration that changed (default: all; a signal carries no name)')
    .addOption(settingsOption('settings file of the gateway'))
    .option('--pid <file>', 'send SIGHUP to the gateway of this pid file')
    .action(async (name: string | undefined, flags: ReloadFlags) => exit(await reload(name, flags)))
}

/** Notifies the gateways; 1 if one that answers reports a refusal or an error. */
async function reload(name: string | undefined, flags: ReloadFlags): Promise<number> {
  const { settings, code } = loadSettings(flags.settings, flags)
  if (!settings) return code
  const { line, fault } = await notify(notifierOf(settings, flags), name)
  process.stdout.write(`${printable(line)}\n`)
  if (fault !== undefined) process.stderr.write(`plantgw: ${printableLines(fault)}\n`)
  return fault === undefined ? 0 : 1
}

function notifierOf(settings: Settings, flags: ReloadFlags): Notifier {
  const { notifier, pid, admin } = settings
  if (flags.pid === undefined && notifier) return notifier
  if (pid !== undefined && (flags.pid !== undefined || !admin?.listen))
    return { type: 'signal', signal: { signal: 'SIGHUP', pid } }
  const base = adminUrlOf(settings)
  const token = admin?.token
  const target_url = admin?.listen?.path === undefined ? `${base}/_reload` : base
  return { type: 'api', api: { target_url, ...(token !== undefined && { token }) } }
}
