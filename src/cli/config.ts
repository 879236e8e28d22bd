import { Command } from 'commander'
import { applyCommand } from './config-apply.ts'
import { deleteCommand, rollbackCommand } from './config-change.ts'
import { diffCommand } from './config-diff.ts'
import { getCommand, historyCommand, listCommand } from './config-read.ts'
import type { Exit } from './config-store.ts'

export function configCommand(exit: Exit): Command {
  const command = new Command('config').description(
    'Look at and change the configurations in the store that the settings name (`storage`).',
  )
  for (const make of [
    listCommand,
    getCommand,
    applyCommand,
    deleteCommand,
    historyCommand,
    diffCommand,
    rollbackCommand,
  ])
    command.addCommand(make(exit))
  return command
}
