import { Command, CommanderError, Help, type Option } from 'commander'
import { printableLines } from '../findings/frame.ts'
import { withEnvFiles } from './env-files.ts'
import { EXAMPLES } from './examples.ts'
import { catchHangUps } from './serve/signals.ts'
import { VERSION } from './version.ts'

type Make = (exit: (code: number) => void) => Promise<Command>

/** In the order of the help. Loaded on demand, as loading all takes longer than most commands run. */
const COMMANDS: Record<string, Make> = {
  init: async (exit) => (await import('./init.ts')).initCommand(exit),
  import: async (exit) => (await import('./import/import.ts')).importCommand(exit),
  serve: async (exit) => (await import('./serve/serve.ts')).serveCommand(exit),
  connect: async (exit) => (await import('./connect/connect-command.ts')).connectCommand(exit),
  publish: async (exit) => (await import('./publish.ts')).publishCommand(exit),
  reload: async (exit) => (await import('./reload.ts')).reloadCommand(exit),
  diff: async (exit) => (await import('./diff.ts')).diffCommand(exit),
  validate: async (exit) => (await import('./validate/validate.ts')).validateCommand(exit),
  'lint-templates': async (exit) => (await import('./validate/validate.ts')).lintTemplatesCommand(exit),
  explain: async (exit) => (await import('./explain.ts')).explainCommand(exit),
  'check-endpoints': async (exit) =>
    (await import('./check-endpoints/check-endpoints.ts')).checkEndpointsCommand(exit),
  pin: async (exit) => (await import('./pin.ts')).pinCommand(exit),
  render: async (exit) => (await import('./render/render.ts')).renderCommand(exit),
  tools: async (exit) => (await import('./call/tools.ts')).toolsCommand(exit),
  search: async (exit) => (await import('./search.ts')).searchCommand(exit),
  call: async (exit) => (await import('./call/call.ts')).callCommand(exit),
  logout: async (exit) => (await import('./login/logout.ts')).logoutCommand(exit),
  config: async (exit) => (await import('./config/config.ts')).configCommand(exit),
  schema: async (exit) => (await import('./schema.ts')).schemaCommand(exit),
  completion: async () => (await import('./completion.ts')).completionCommand(() => programOf([])),
}

/** Called only by `serve` itself, and by completion scripts that older versions installed. */
const HIDDEN: Record<string, Make> = {
  // It offers nothing, so that an old script still completes commands and options.
  complete: async () => new Command('complete').argument('[words...]').action(() => {}),
  worker: async () => (await import('./serve/worker.ts')).workerCommand(),
}

const VERSION_FLAGS: readonly string[] = ['-v', '-V', '--version', 'version']

/** The named command; all commands if help or a suggestion needs them. */
function wanted([first = '']: readonly string[]): readonly Make[] {
  const named = [COMMANDS, HIDDEN].flatMap((all) =>
    Object.hasOwn(all, first) ? (all[first] as Make) : [],
  )[0]
  return named ? [named] : Object.values(COMMANDS)
}

/**
 * The command line. Exit codes: 0 success, 1 findings, 2 wrong use or failure of the command. Every command is a thin
 * layer over a call below and returns its exit code.
 */
export async function main(argv: readonly string[]): Promise<number> {
  let code = 0
  outliveReaders()
  // A signal may arrive while modules are loaded.
  if (argv[0] === 'serve') catchHangUps()
  if (VERSION_FLAGS.includes(argv[0] ?? '')) {
    process.stdout.write(`${VERSION}\n`)
    return 0
  }
  try {
    const program = await programOf(argv, (status) => {
      code = status
    })
    await program.parseAsync(argv as string[], { from: 'user' })
    return code
  } catch (error) {
    // Help and version end with a commander error that is not an error.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    process.stderr.write(`plantgw: ${printableLines((error as Error).message)}\n`)
    return 2
  }
}

/** The reader may close the pipe early (`plantgw validate | head`), which must not change the exit code. */
function outliveReaders(): void {
  // One process may run several commands.
  for (const stream of [process.stdout, process.stderr])
    if (!stream.listeners('error').includes(unlessBroken)) stream.on('error', unlessBroken)
}

/** Any other error is thrown, as without a listener, unless `serve --stdio` listens too. */
function unlessBroken(this: NodeJS.WritableStream, error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE' && this.listenerCount('error') === 1) throw error
}

/** The program with the commands needed for these arguments. */
async function programOf(argv: readonly string[], exit: (code: number) => void = () => {}): Promise<Command> {
  const program = new Command('plantgw')
    .description(
      'Turns HTTP APIs and existing MCP servers into MCP endpoints, from one YAML file per service.',
    )
    .version(VERSION, '-v, --version')
    .exitOverride()
    .configureHelp({ showGlobalOptions: true })
    .showSuggestionAfterError()
    .showHelpAfterError('(add --help for the options)')
  // A worker inherits the variables of its parent, which may have read them from a pipe.
  if (argv[0] !== 'worker') withEnvFiles(program)
  for (const make of wanted(argv)) program.addCommand(inherit(await make(exit)))
  return program
}

function inherit(command: Command, parent = ''): Command {
  const words = `${parent} ${command.name()}`.trim()
  for (const sub of command.commands) inherit(sub, words)
  const examples = EXAMPLES[words]?.map((line) => `\n  $ ${line}`)
  if (examples) command.addHelpText('after', `\nExamples:${examples.join('')}`)
  return command
    .configureHelp({ optionDescription: described })
    .exitOverride()
    .showSuggestionAfterError()
    .showHelpAfterError(
      `usage: plantgw ${words} ${command.usage()}\n${choicesOf(command)}(add --help for the options)`,
    )
}

/** Lines such as `shell: bash, zsh, fish`. */
function choicesOf({ registeredArguments }: Command): string {
  return registeredArguments
    .map((one) => (one.argChoices ? `${one.name()}: ${one.argChoices.join(', ')}\n` : ''))
    .join('')
}

const help = new Help()
/** Omits the empty default of repeatable options. */
function described(option: Option): string {
  return help.optionDescription(option).replace(/ \(default: (?:\[\]|\{\})\)$/, '')
}
