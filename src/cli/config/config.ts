import { Command } from 'commander'
import { diffCommand } from '../diff.ts'
import { applyCommand, deleteCommand, rollbackCommand } from './change.ts'
import type { Exit } from './context.ts'
import { getCommand, historyCommand, listCommand } from './show.ts'

export function configCommand(exit: Exit): Command {
  const command = new Command('config').description(
    'List, read and change the configurations in the store of the settings (`storage`).',
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
