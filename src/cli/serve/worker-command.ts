import { Command } from 'commander'
import { work } from './worker.ts'

/** The arguments of the command by which `serve` starts a worker. */
export const WORKER_COMMAND = 'worker'

export function workerCommand(exit: (code: number) => void): Command {
  return new Command(WORKER_COMMAND)
    .description('Serve as one of the workers of `plantgw serve`, which starts it.')
    .action(async () => exit(await work()))
}
