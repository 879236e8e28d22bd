import { join } from 'node:path'
import { Command } from 'commander'
import { importUnlaSettings } from '../../import/unla-settings.ts'
import { formatOption } from '../options.ts'
import { jsonText, printFindings } from '../output.ts'
import { writeNew } from '../write-new.ts'
import { fetchText } from './fetch-text.ts'
import { variableLines } from './import-text.ts'
import type { OutputFlags } from './write-imported.ts'

export function unlaCommand(exit: (code: number) => void): Command {
  return new Command('unla')
    .description(
      'Make settings from a settings file of Unla (mcp-gateway.yaml). Its configurations need no import: check them with plantgw validate --fix.',
    )
    .argument('<file>', 'file, - for standard input')
    .option('-o, --output <folder>', 'folder for plantgw.yaml (default: standard output)')
    .option('--force', 'overwrite an existing file')
    .addOption(formatOption())
    .action(async (from: string, flags: OutputFlags) => exit(await importUnla(from, flags)))
}

async function importUnla(from: string, { output, force, format }: OutputFlags): Promise<number> {
  const { text } = await fetchText(from)
  const made = importUnlaSettings({ file: from, text })
  if (made.findings) {
    printFindings(made.findings, new Map([[from, text]]))
    return 1
  }
  if (made.fault !== undefined) {
    process.stderr.write(`plantgw: ${from} is not a settings file of Unla: ${made.fault}\n`)
    return 1
  }
  const file = join(output ?? '', 'plantgw.yaml')
  if (output !== undefined) writeNew(new Map([[file, made.text]]), force)
  const { notes, variables } = made
  const lines = [
    `${from}: settings of Unla`,
    ...notes.map(({ key, note }) => `  ${key}: ${note}`),
    ...(output === undefined ? [] : ['', 'Written:', `  ${file}`]),
    ...variableLines(variables),
  ]
  if (format === 'json')
    process.stdout.write(
      jsonText({ notes, variables, ...(output === undefined ? { text: made.text } : { file }) }),
    )
  else if (output !== undefined) process.stdout.write(`${lines.join('\n')}\n`)
  else {
    process.stdout.write(made.text)
    process.stderr.write(`${lines.join('\n')}\n`)
  }
  return 0
}
