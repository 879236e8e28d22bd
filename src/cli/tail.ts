import { get as getHttp, type IncomingMessage, type RequestOptions } from 'node:http'
import { get as getHttps } from 'node:https'
import { Command } from 'commander'
import type { SettingsFlags } from '../config/index.ts'
import type { JsonObject } from '../json/index.ts'
import { ownEvents } from '../net/index.ts'
import { adminFault, pageText } from '../notify/api.ts'
import { at } from '../server/console/layout.tsx'
import { printable } from '../text/index.ts'
import { adminPage } from './ask-admin.ts'
import { formatOption } from './options.ts'
import { adminUrlOf, loadSettings, settingsOption } from './settings.ts'

interface TailFlags extends SettingsFlags {
  settings?: string
  url?: string
  format: string
}

export function tailCommand(exit: (code: number) => void): Command {
  return new Command('tail')
    .description('Print the calls of a running gateway as they end, until it stops or Ctrl-C.')
    .option('--url <url>', 'where the admin pages are (default: as the settings say)')
    .addOption(formatOption())
    .addOption(settingsOption('settings file of the gateway'))
    .action(async (flags: TailFlags) => exit(await tail(flags)))
}

async function tail(flags: TailFlags): Promise<number> {
  const { settings, code } = loadSettings(flags.settings, flags)
  if (!settings) return code
  const page = adminPage(flags.url ?? adminUrlOf(settings), at('events'))
  const token = settings.admin?.token
  const options: RequestOptions = {
    headers: {
      accept: 'text/event-stream',
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
    ...(page.socket !== undefined && { socketPath: page.socket }),
  }
  const unreachable = (error: unknown) => {
    throw adminFault(error, page)
  }
  const response = await connected(page.url, options).catch(unreachable)
  const isStream = response.headers['content-type']?.startsWith('text/event-stream')
  if (response.statusCode !== 200 || !isStream) {
    response.destroy()
    const why =
      response.statusCode === 401
        ? 'the gateway requires the admin token: give its settings with --settings'
        : `it answered with the status ${response.statusCode}, and has no console: check --url, and \`admin.listen\` of its settings`
    throw new Error(`${pageText(page)}: ${why}`)
  }
  process.stderr.write(`following the calls of ${page.url.origin}\n`)
  await printCalls(response, flags.format).catch(unreachable)
  return 0
}

function connected(url: URL, options: RequestOptions): Promise<IncomingMessage> {
  const get = url.protocol === 'https:' ? getHttps : getHttp
  return new Promise((resolve, reject) => {
    get(url, options, resolve).on('error', reject)
  })
}

async function printCalls(response: IncomingMessage, format: string): Promise<void> {
  for await (const { event, data } of ownEvents(response.setEncoding('utf8')))
    if (event === 'call') process.stdout.write(`${format === 'json' ? data : lineOf(JSON.parse(data))}\n`)
}

/** `12:30:05 /shop get_order ok 12 ms alice`, in the local time. */
function lineOf({ at, prefix, name, outcome, failure, ms, caller }: JsonObject): string {
  const why = failure ? `: ${failure}` : ''
  const parts = [
    new Date(String(at)).toTimeString().slice(0, 8),
    prefix || '/',
    name,
    `${outcome}${why}`,
    `${Math.round(Number(ms))} ms`,
    caller ?? '',
  ]
  return printable(parts.join(' ').trimEnd())
}
