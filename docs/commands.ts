import type { Command } from 'commander'
import { programOf } from '../src/cli/main.ts'

/** The page of the command line: the text of each `--help`, 80 columns wide. */
export async function commandsPage(): Promise<string> {
  const program = await programOf([])
  return `# Commands

<!-- Made by \`npm run docs\` from the help of the commands. -->

\`plantgw COMMAND --help\` prints the same text. In a project that has installed plantgw, write \`npx plantgw\`.

| exit code | meaning |
| --- | --- |
| 0 | success |
| 1 | the command found something wrong: findings, differences, a tool result that is an error |
| 2 | wrong usage, or the command itself failed |

\`\`\`text
${helpOf(program)}
\`\`\`

${program.commands.map((command) => section(command, '##')).join('\n')}`
}

function section(command: Command, heading: string, parent = 'plantgw'): string {
  const words = `${parent} ${command.name()}`
  const subcommands = command.commands.map((one) => section(one, `${heading}#`, words))
  return [`${heading} ${words}\n\n\`\`\`text\n${helpOf(command)}\n\`\`\`\n`, ...subcommands].join('\n')
}

function helpOf(command: Command): string {
  let text = ''
  command.configureOutput({
    writeOut: (part) => {
      text += part
    },
    getOutHelpWidth: () => 80,
    getOutHasColors: () => false,
  })
  command.outputHelp()
  return text.trimEnd()
}
