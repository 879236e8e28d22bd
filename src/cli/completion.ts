import { Argument, Command, type Option } from 'commander'
import { CHECKS, CODES } from '../findings/index.ts'

const SHELLS: Record<string, (tree: readonly Completed[]) => string> = {
  bash: bashCompletion,
  zsh: zshCompletion,
  fish: fishCompletion,
}

/** @param whole creates the program with all commands */
export function completionCommand(whole: () => Promise<Command>): Command {
  return new Command('completion')
    .description('Print a script that completes commands, options and files in a shell.')
    .addArgument(new Argument('<shell>', 'which shell').choices(Object.keys(SHELLS)))
    .action(async (shell: string) => {
      process.stdout.write(SHELLS[shell]!(completionTree(await whole())))
    })
}

/** Completions at one position of the command line. */
interface Completed {
  /** Words after `plantgw`: none, a command, or a command and its subcommand. */
  path: readonly string[]
  commands: readonly Described[]
  options: readonly CompletedOption[]
  /** Possible arguments; empty: files. */
  words: readonly string[]
}

interface Described {
  name: string
  description: string
}

interface CompletedOption {
  /** Such as `-s` and `--settings`. */
  flags: readonly string[]
  description: string
  /** Undefined: takes no value. Empty: any value, or a file. */
  values: readonly string[] | undefined
}

/** Values of options and arguments by their name in the help. */
const NAMED: Record<string, () => string[]> = {
  code: () => Object.keys(CODES),
  checks: () => [...Object.keys(CHECKS), ...Object.keys(CODES)],
}

/** Every position of the command line, the top first. */
function completionTree(command: Command, path: readonly string[] = []): Completed[] {
  const help = command.createHelp()
  const commands = command.commands.map((one) => ({
    name: one.name(),
    description: lineOf(help.subcommandDescription(one)),
  }))
  const words = command.registeredArguments.flatMap(
    (argument) => argument.argChoices ?? NAMED[argument.name()]?.() ?? [],
  )
  const below = command.commands.flatMap((one) => completionTree(one, [...path, one.name()]))
  return [{ path, commands, options: help.visibleOptions(command).map(completed), words }, ...below]
}

function completed(option: Option): CompletedOption {
  const { short, long, description, required, optional, argChoices, flags } = option
  const named = () => NAMED[/<(\w+)/.exec(flags)?.[1] ?? '']?.() ?? []
  return {
    flags: [short, long].filter((flag) => flag != null),
    description: lineOf(description),
    values: required || optional ? (argChoices ?? named()) : undefined,
  }
}

/** The first sentence on one line. */
function lineOf(text: string): string {
  return text.replace(/\s+/g, ' ').replace(/\. .*$|\.$/, '')
}

/** Options with a value, as a list for `case`. */
const valued = ({ options }: Completed) => options.filter(({ values }) => values !== undefined)
const flagsOf = (options: readonly CompletedOption[]) => options.flatMap(({ flags }) => flags)

/** A text in single quotes of a POSIX shell. */
const quote = (text: string) => `'${text.replaceAll("'", "'\\''")}'`

/** Finds the words that name a command, skipping values of options. */
function bashCompletion(tree: readonly Completed[]): string {
  const places = tree.map((place) => {
    const { path, commands, options, words } = place
    const lists = options.filter(({ values }) => values?.length)
    const offered = [...commands.map(({ name }) => name), ...words]
    return `    ${quote(path.join(' '))})
      options=${quote(flagsOf(options).join(' '))}
      words=${quote(offered.join(' '))}
      valued=${quote(` ${flagsOf(valued(place)).join(' ')} `)}
      case "$previous" in
${lists.map(({ flags, values }) => `        ${flags.join(' | ')}) values=${quote(values!.join(' '))} ;;\n`).join('')}        *) values= ;;
      esac
      ;;`
  })
  const paths = tree.map(({ path }) => path.join(' ')).filter(Boolean)
  return `# Completion for bash. Into ~/.bashrc: eval "$(plantgw completion bash)"
_plantgw() {
  local word current previous path= options words valued values next i
  current=\${COMP_WORDS[COMP_CWORD]}
  previous=\${COMP_WORDS[COMP_CWORD-1]}
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    next="\${path:+$path }$word"
    case "$next" in
      ${paths.map(quote).join(' | ')}) path=$next ;;
    esac
  done
  case "$path" in
${places.join('\n')}
  esac
  COMPREPLY=()
  if [[ -n $values ]]; then
    COMPREPLY=($(compgen -W "$values" -- "$current"))
  elif [[ $valued == *" $previous "* ]]; then
    compopt -o default 2>/dev/null
  elif [[ $current == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$current"))
  else
    COMPREPLY=($(compgen -W "$words" -- "$current"))
    [[ -n $words ]] || compopt -o default 2>/dev/null
  fi
}
complete -F _plantgw plantgw
`
}

/** Escapes a text for `_arguments`. */
const zshText = (text: string) => text.replace(/[[\]:\\]/g, '\\$&')

function zshCompletion(tree: readonly Completed[]): string {
  const functions = tree.map(({ path, commands, options, words }) => {
    const specs = options.map(({ flags, description, values }) => {
      const what = `[${zshText(description)}]`
      const value =
        values === undefined ? '' : values.length ? `:value:(${values.join(' ')})` : ':value:_files'
      const names = flags.length > 1 ? `'(${flags.join(' ')})'{${flags.join(',')}}` : flags[0]
      return `    ${names}${quote(what + value)} \\`
    })
    const name = ['_plantgw', ...path].join('_').replaceAll('-', '_')
    if (commands.length === 0) {
      const rest = words.length ? `'*:argument:(${words.join(' ')})'` : `'*:file:_files'`
      return `${name}() {\n  _arguments -s -S \\\n${specs.join('\n')}\n    ${rest}\n}`
    }
    const described = commands.map(
      (one) => `    ${quote(`${one.name.replaceAll(':', '\\:')}:${one.description}`)}`,
    )
    return `${name}() {
  local state line
  local -a commands=(
${described.join('\n')}
  )
  _arguments -C \\
${specs.join('\n')}
    '1: :->command' '*:: :->rest'
  case $state in
    command) _describe command commands ;;
    rest) (( $+functions[${name}_\${words[1]//-/_}] )) && ${name}_\${words[1]//-/_} ;;
  esac
}`
  })
  return `#compdef plantgw
# Completion for zsh. Into ~/.zshrc, after compinit: source <(plantgw completion zsh)

${functions.join('\n\n')}

compdef _plantgw plantgw
`
}

/** A text in single quotes of fish. */
const fishQuote = (text: string) => `'${text.replace(/[\\']/g, '\\$&')}'`

function fishCompletion(tree: readonly Completed[]): string {
  const lines = tree.flatMap(({ path, commands, options, words }) => {
    const at = `complete -c plantgw -n ${fishQuote(`__plantgw_at ${path.join(' ')}`.trimEnd())}`
    return [
      ...commands.map((one) => `${at} -f -a ${one.name} -d ${fishQuote(one.description)}`),
      ...options.map(({ flags, description, values }) => {
        const names = flags.map((flag) =>
          flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`,
        )
        const value =
          values === undefined ? '' : values.length ? ` -x -a ${fishQuote(values.join(' '))}` : ' -r'
        return `${at} ${names.join(' ')}${value} -d ${fishQuote(description)}`
      }),
      ...(words.length ? [`${at} -f -a ${fishQuote(words.join(' '))}`] : []),
    ]
  })
  const paths = tree.map(({ path }) => path.join(' ')).filter(Boolean)
  return `# Completion for fish. Into ~/.config/fish/config.fish: plantgw completion fish | source
function __plantgw_at
  set -l path
  for word in (commandline -opc)[2..]
    set -l next (string join -- ' ' $path $word)
    contains -- $next ${paths.map(fishQuote).join(' ')}; and set path $next
  end
  test "$path" = "$argv"
end
${lines.join('\n')}
`
}
