import { Command, CommanderError, Help, type Option } from 'commander'
import { faultHint } from '../store/fault-hint.ts'
import { printableLines } from '../text/index.ts'
import { withEnvFiles } from './env-files.ts'
import EXAMPLES from './examples.json' with { type: 'json' }
import { VERSION } from './own-command.ts'
import { catchHangUps } from './serve/signals.ts'

type Make = (exit: (code: number) => void) => Promise<Command>

/** By their group in the help. Loaded on demand, as loading all takes longer than most commands run. */
const HELP: Partial<Record<string, string[]>> = EXAMPLES

const GROUPS: Record<string, Record<string, Make>> = {
  Start: {
    init: async (exit) => (await import('./init.ts')).initCommand(exit),
    import: async (exit) => (await import('./import/import.ts')).importCommand(exit),
  },
  'Write configurations': {
    validate: async (exit) => (await import('./validate/validate.ts')).validateCommand(exit),
    'lint-templates': async (exit) => (await import('./validate/validate.ts')).lintTemplatesCommand(exit),
    'check-endpoints': async (exit) =>
      (await import('./check-endpoints/check-endpoints.ts')).checkEndpointsCommand(exit),
    render: async (exit) => (await import('./render/render.ts')).renderCommand(exit),
    explain: async (exit) => (await import('./explain.ts')).explainCommand(exit),
    pin: async (exit) => (await import('./pin.ts')).pinCommand(exit),
    schema: async (exit) => (await import('./schema.ts')).schemaCommand(exit),
  },
  'Run the gateway': {
    serve: async (exit) => (await import('./serve/serve.ts')).serveCommand(exit),
    diff: async (exit) => (await import('./diff.ts')).diffCommand(exit),
    reload: async (exit) => (await import('./reload.ts')).reloadCommand(exit),
    tail: async (exit) => (await import('./tail.ts')).tailCommand(exit),
    config: async (exit) => (await import('./config/config.ts')).configCommand(exit),
  },
  'Call tools': {
    tools: async (exit) => (await import('./call/tools.ts')).toolsCommand(exit),
    search: async (exit) => (await import('./search.ts')).searchCommand(exit),
    call: async (exit) => (await import('./call/call.ts')).callCommand(exit),
    login: async (exit) => (await import('./login/login-command.ts')).loginCommand(exit),
    logout: async (exit) => (await import('./login/logout.ts')).logoutCommand(exit),
  },
  'Connect others': {
    connect: async (exit) => (await import('./connect/connect-command.ts')).connectCommand(exit),
    publish: async (exit) => (await import('./publish.ts')).publishCommand(exit),
    completion: async () => (await import('./completion.ts')).completionCommand(() => programOf([])),
  },
}

/** Called only by `serve` itself. */
const HIDDEN: Record<string, Make> = {
  worker: async () => (await import('./serve/worker.ts')).workerCommand(),
}

const VERSION_FLAGS: readonly string[] = ['-v', '-V', '--version', 'version']

/** The named command; all commands if help or a suggestion needs them. */
function wanted([first = '']: readonly string[]): readonly [make: Make, group: string][] {
  const all = Object.entries({ ...GROUPS, '': HIDDEN }).flatMap(([group, makes]) =>
    Object.entries(makes).map(([name, make]) => ({ name, group, make })),
  )
  const named = all.filter(({ name }) => name === first)
  const shown = named.length > 0 ? named : all.filter(({ group }) => group !== '')
  return shown.map(({ make, group }) => [make, group])
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
    const words = argv[0] === 'help' ? [...argv.slice(1), '--help'] : argv
    const program = await programOf(words, (status) => {
      code = status
    })
    await program.parseAsync(untilUnknown(words, program), { from: 'user' })
    return code
  } catch (error) {
    // Help and version end with a commander error that is not an error.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    const hint = faultHint(error as Error)
    process.stderr.write(`plantgw: ${printableLines((error as Error).message)}\n`)
    if (hint !== undefined) process.stderr.write(`  hint: ${hint}\n`)
    return 2
  }
}

/** The words up to one that is no command: `--help` after it would hide the error. */
function untilUnknown(words: readonly string[], command: Command): string[] {
  const { commands } = command
  const [first = '-', ...rest] = words
  if (first.startsWith('-') || commands.length === 0) return [...words]
  if (first === 'help') return untilUnknown([...rest, '--help'], command)
  const named = commands.find((one) => one.name() === first)
  return named ? [first, ...untilUnknown(rest, named)] : [first]
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
export async function programOf(
  argv: readonly string[],
  exit: (code: number) => void = () => {},
): Promise<Command> {
  const program = new Command('plantgw')
    .usage('<command>')
    .description(
      'Turns HTTP APIs and existing MCP servers into MCP endpoints, from one YAML file per service.',
    )
    .version(VERSION, '-v, --version', 'print the version')
    .addHelpText(
      'after',
      '\nExit codes: 0 success; 1 what was checked, compared or called has a fault;\n2 wrong use (option, argument or file), or the command itself failed.',
    )
  // A worker inherits the variables of its parent, which may have read them from a pipe.
  if (argv[0] !== 'worker') withEnvFiles(program)
  for (const [make, group] of wanted(argv)) program.addCommand((await make(exit)).helpGroup(`${group}:`))
  const help = new Command('help').argument('[command]').description('Show the help of a command.')
  program.addHelpCommand(help.helpGroup('Start:'))
  return inherit(program, [])
}

/** Gives a command and those below it the same style of help, errors and output. */
function inherit(command: Command, words: readonly string[]): Command {
  for (const sub of command.commands) inherit(sub, [...words, sub.name()])
  const examples = HELP[words.join(' ')]?.map((line) => `\n  $ ${line}`)
  if (examples) command.addHelpText('after', `\nExamples:${examples.join('')}`)
  addJson(command)
  const usage = words.length
    ? `usage: plantgw ${words.join(' ')} ${command.usage()}\n${choicesOf(command)}`
    : ''
  return command
    .configureHelp({
      optionDescription: described,
      subcommandTerm: (sub) => sub.name(),
      // The first sentence.
      subcommandDescription: (sub) => (sub.summary() || sub.description()).split(/(?<=\.) /, 1)[0]!,
      showGlobalOptions: true,
    })
    .configureOutput({ outputError: (text, write) => write(plainError(text)) })
    .exitOverride()
    .showSuggestionAfterError()
    .showHelpAfterError(`${usage}(add --help for the options)`)
}

/** Commander’s sentence about a wrong choice, without its own terms. */
function plainError(text: string): string {
  return text
    .replace(/^error: /, 'plantgw: ')
    .replace(
      /command-argument value '(.*)' is invalid for argument '(.*?)'\. Allowed choices are /,
      'unknown $2 "$1": choose one of ',
    )
    .replace(
      /option '[^']*?(--[\w-]+)[^']*' argument '(.*)' is invalid\. Allowed choices are /,
      '$1 cannot be "$2": choose one of ',
    )
}

/** Adds `--json` where `--format` has it. */
function addJson(command: Command): void {
  const formats = command.options.find((one) => one.attributeName() === 'format')?.argChoices
  if (!formats?.includes('json')) return
  command.option('--json', 'the same as --format json').hook('preAction', () => {
    const { json, format } = command.opts<{ json?: boolean; format: string }>()
    if (!json) return
    if (command.getOptionValueSource('format') === 'cli' && format !== 'json')
      throw new Error(`--json contradicts --format ${format}: leave one of them out`)
    command.setOptionValue('format', 'json')
  })
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
