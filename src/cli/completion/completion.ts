import { Argument, Command } from 'commander'
import { bashCompletion, fishCompletion, zshCompletion } from './completion-shells.ts'
import { type Completed, completionTree } from './completion-tree.ts'

const SHELLS: Record<string, (tree: readonly Completed[]) => string> = {
  bash: bashCompletion,
  zsh: zshCompletion,
  fish: fishCompletion,
}

/** @param whole makes the program with all of its commands */
export function completionCommand(whole: () => Promise<Command>): Command {
  return new Command('completion')
    .description('Print a script that completes commands, options and their values in a shell.')
    .addArgument(new Argument('<shell>', 'which shell').choices(Object.keys(SHELLS)))
    .action(async (shell: string) => {
      process.stdout.write(SHELLS[shell]!(completionTree(await whole())))
    })
}
