import { Command, CommanderError } from 'commander'
import { callCommand } from './call.ts'
import { configCommand } from './config.ts'
import { lintTemplatesCommand } from './lint-templates.ts'
import { reloadCommand } from './reload.ts'
import { renderCommand } from './render.ts'
import { serveCommand } from './serve.ts'
import { toolsCommand } from './tools.ts'
import { validateCommand } from './validate.ts'
import { VERSION } from './version.ts'

/**
 * The command line. Exit codes: 0 sound, 1 findings, 2 wrong use or the command itself failed.
 * Every command is a thin shell around a call below and returns its exit code.
 */
export async function main(argv: readonly string[]): Promise<number> {
  const program = new Command('plantgw')
    .description(
      'Turns HTTP APIs and existing MCP servers into MCP endpoints, from one YAML file per service.',
    )
    .version(VERSION, '-V, --version')
    .exitOverride()
    .configureHelp({ showGlobalOptions: true })
    .showSuggestionAfterError()
    .showHelpAfterError('(add --help for the options)')
  let code = 0
  const exit = (status: number) => {
    code = status
  }
  program.addCommand(inherit(serveCommand(exit)))
  program.addCommand(inherit(reloadCommand(exit)))
  program.addCommand(inherit(validateCommand(exit)))
  program.addCommand(inherit(lintTemplatesCommand(exit)))
  program.addCommand(inherit(renderCommand(exit)))
  program.addCommand(inherit(toolsCommand(exit)))
  program.addCommand(inherit(callCommand(exit)))
  program.addCommand(inherit(configCommand(exit)))
  try {
    await program.parseAsync(argv as string[], { from: 'user' })
    return code
  } catch (error) {
    // Help and version end by an error of commander's that is none.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    process.stderr.write(`plantgw: ${(error as Error).message}\n`)
    return 2
  }
}

function inherit(command: Command): Command {
  for (const sub of command.commands) inherit(sub)
  return command.exitOverride().showSuggestionAfterError().showHelpAfterError('(add --help for the options)')
}
