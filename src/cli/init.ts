import { readFileSync } from 'node:fs'
import { join, posix, relative, resolve, sep } from 'node:path'
import { Command, InvalidArgumentError } from 'commander'
import { schemaFile } from '../config/index.ts'
import { shellWord } from '../text/index.ts'
import { writeNew } from './output.ts'
import { installedFor, ownCommand } from './own-command.ts'

export function initCommand(exit: (code: number) => void): Command {
  return new Command('init')
    .description(
      'Write a starter configuration and settings that work at once. Existing files are never overwritten.',
    )
    .argument('[folder]', 'target folder; created if it does not exist', '.')
    .option('--name <service>', 'name of the service and of its file in configs/', serviceName, 'plants')
    .action((folder: string, { name }: { name: string }) => exit(init(folder, name)))
}

function serviceName(text: string): string {
  if (!/^[a-z0-9](?:[a-z0-9_-]{0,62}[a-z0-9])?$/i.test(text))
    throw new InvalidArgumentError('Use letters, digits, - and _, for example shop.')
  return text
}

function init(folder: string, service: string): number {
  const root = resolve(folder)
  const schemas = schemaFolder(root)
  const files = new Map([
    [
      'plantgw.yaml',
      starter('plantgw.yaml', service, `${schemas.path.startsWith('../') ? '' : './'}${schemas.path}`),
    ],
    [`configs/${service}.yaml`, starter('service.yaml', service, `../${schemas.path}`)],
  ])
  if (schemas.own)
    for (const name of ['configuration', 'settings'] as const)
      files.set(`${schemas.path}/${name}.schema.json`, `${JSON.stringify(schemaFile(name), null, 2)}\n`)
  writeNew(new Map([...files].map(([path, text]) => [join(folder, path), text])))
  process.stdout.write(nextSteps(folder, [...files.keys()], service, ownCommand(root)))
  return 0
}

/** A file of `examples/starter`, which is at the same place seen from src/cli, dist/cli and dist/bin. */
function starter(name: string, service: string, schemas: string): string {
  const text = readFileSync(new URL(`../../examples/starter/${name}`, import.meta.url), 'utf8')
  return text.replaceAll('SERVICE', service).replaceAll('SCHEMAS', () => schemas)
}

/** The schemas' folder, relative to the project: in the installed package, or a copy. */
function schemaFolder(root: string): { path: string; own: boolean } {
  const installed = installedFor(root)
  if (installed === undefined) return { path: 'schemas', own: true }
  return { path: relative(root, join(installed, 'schemas')).split(sep).join(posix.sep), own: false }
}

function nextSteps(folder: string, files: readonly string[], service: string, command: string): string {
  const enter = folder === '.' ? [] : [`  cd ${shellWord(folder)}`]
  return [
    `Wrote to ${folder === '.' ? 'this folder' : folder}:`,
    ...files.map((file) => `  ${file}`),
    '',
    'Next:',
    ...enter,
    `  ${command} validate configs`,
    `  ${command} serve`,
    'In another terminal:',
    `  ${command} call /${service} create_plant id=1 name=Fern`,
    `  ${command} call /${service} list_plants`,
    '',
    `Then change configs/${service}.yaml, or import OpenAPI descriptions:`,
    `  ${command} import openapi <file|url> -o configs`,
    '',
  ].join('\n')
}
