import { Command } from 'commander'
import { work } from './worker.ts'

/** The arguments of the command by which `serve` starts a worker. */
export const WORKER_COMMAND = 'worker'

export function workerCommand(): Command {
  return (
    new Command(WORKER_COMMAND)
      .description('Serve as one of the workers of `plantgw serve`, which starts it.')
      // What is under way would hold the process, of which nobody is left who would end it.
      .action(async () => process.exit(await work()))
  )
}
