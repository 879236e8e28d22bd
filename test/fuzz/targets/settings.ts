import { readSettings } from '../../../src/checks/index.ts'
import { holds, type Target } from '../target.ts'

export const settings: Target = {
  name: 'settings',
  about: 'the settings file and PLANTGW_PORT: settings, or errors that say why not',
  tokens: [
    ...[
      ...'logger: limits: plants: tenants: notifier: storage: cluster: admin:'.split(' '),
      'port: ',
      'host: ',
      '\n',
    ],
    ...[...'5235 -1 1e9 99999999999999999999 10m 600s 4MiB 1.5GiB true ~ []'.split(' '), '\n  ', '- ', ': '],
    ...[
      '{}',
      '"',
      "'",
      '${A}',
      '${B:1}',
      '${',
      '$${',
      '{',
      '}',
      ',',
      '&a ',
      '*a',
      '!!int ',
      '127.0.0.1',
      '::1',
      'unix:/x',
      '0',
    ],
  ],
  maxLength: 1200,
  ciRuns: 1_500,
  budget: 500,
  async start() {
    return { run }
  },
}

/** The first line is a variable. */
function run(input: string): void {
  const end = input.indexOf('\n')
  const env = { A: 'a', PLANTGW_PORT: end > 0 ? input.slice(0, end) : undefined }
  const source = { file: 'plantgw.yaml', text: input.slice(end + 1) }
  const { settings, findings } = readSettings(source, env)
  const errors = findings.some(({ severity }) => severity === 'error')
  holds((settings === undefined) === errors, 'settings and errors at once, or neither')
  if (!settings) return
  holds(
    Number.isInteger(settings.port) && settings.port >= 0 && settings.port < 65_536,
    'a port out of range',
  )
  for (const limit of Object.values(settings.limits))
    holds(typeof limit !== 'number' || (limit >= 0 && Number.isFinite(limit)), 'a limit out of range')
}
