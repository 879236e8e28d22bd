import type { Command } from 'commander'
import { CHECKS, CODES } from '../../findings/index.ts'

/** What a shell can complete at one place of the command line. */
export interface Completed {
  /** Words after `plantgw`: none, a command, or a command and one of its own. */
  path: readonly string[]
  commands: readonly Described[]
  options: readonly CompletedOption[]
  /** What the arguments may be; empty: files. */
  words: readonly string[]
}

export interface Described {
  name: string
  description: string
}

export interface CompletedOption {
  /** Such as `-s` and `--settings`. */
  flags: readonly string[]
  description: string
  /** Undefined: it takes no value. Empty: any, or a file. */
  values: readonly string[] | undefined
}

/** Values of options and arguments by the name that the help gives them. */
const NAMED: Record<string, () => string[]> = {
  code: () => Object.keys(CODES),
  checks: () => [...Object.keys(CHECKS), ...Object.keys(CODES)],
}

/** Every place of the command line, the top first. */
export function completionTree(program: Command): Completed[] {
  const visit = (command: Command, path: readonly string[]): Completed[] => [
    {
      path,
      commands: command.commands.map((one) => ({ name: one.name(), description: summaryOf(one) })),
      options: optionsOf(command),
      words: command.registeredArguments.flatMap(
        (argument) => argument.argChoices ?? NAMED[argument.name()]?.() ?? [],
      ),
    },
    ...command.commands.flatMap((one) => visit(one, [...path, one.name()])),
  ]
  return visit(program, [])
}

function optionsOf(command: Command): CompletedOption[] {
  const help = { flags: ['-h', '--help'], description: 'display help for command', values: undefined }
  return [
    ...command.options
      .filter(({ hidden }) => !hidden)
      .map(({ short, long, description, required, optional, argChoices, flags }) => ({
        flags: [short, long].filter((flag) => flag != null),
        description: lineOf(description),
        values:
          required || optional ? (argChoices ?? NAMED[/<(\w+)/.exec(flags)?.[1] ?? '']?.() ?? []) : undefined,
      })),
    help,
  ]
}

function summaryOf(command: Command): string {
  return lineOf(command.summary() || command.description())
}

/** The first sentence, in one line. */
function lineOf(text: string): string {
  return text.replace(/\s+/g, ' ').replace(/\. .*$|\.$/, '')
}
