import { Argument, Command } from 'commander'
import { type SchemaName, schemaFile } from '../config/index.ts'

const NAMES: SchemaName[] = ['configuration', 'settings', 'lint']

export function schemaCommand(exit: (code: number) => void): Command {
  return new Command('schema')
    .description('Print a JSON Schema (2020-12), for editors and other tools.')
    .addArgument(
      new Argument('[name]', 'schema of configurations, settings, or the lint configuration')
        .choices(NAMES)
        .default('configuration'),
    )
    .action((name: SchemaName) => {
      process.stdout.write(`${JSON.stringify(schemaFile(name), null, 2)}\n`)
      exit(0)
    })
}
