import { fixFile } from '../../../src/checks/fix.ts'
import { checkTogether, readConfiguration } from '../../../src/checks/index.ts'
import { lintTemplates } from '../../../src/checks/templates/index.ts'
import { CODES, formatText } from '../../../src/findings/index.ts'
import { holds, type Target } from '../target.ts'

export const yaml: Target = {
  name: 'yaml',
  about: 'configuration files: findings for anything, places inside the text',
  tokens: [
    ...[
      'name: ',
      'routers:',
      'servers:',
      'tools:',
      'mcpServers:',
      'prompts:',
      '- ',
      '  - ',
      '\n',
      '\n  ',
      '\t',
      ': ',
      ' #',
    ],
    ...[...`*a | >- |2+ " ' { } [ ] , --- ...`.split(' '), '&a ', '!!str ', '!!binary ', '!x ', '<<: *a'],
    ...[
      '${HOME}',
      '${NO}',
      '${NO:x}',
      '$${',
      '{{.Args.a}}',
      '{{',
      'endpoint: ',
      'args:',
      'position: path',
      'type: integer',
    ],
    ...[
      'default: "1"',
      'inputSchema: {}',
      'headers: {}',
      'prefix: /x',
      'server: a',
      '%YAML 1.1',
      '? ',
      '0x10',
      '1e3',
      '.nan',
      '~',
    ],
    ...[
      '2001-01-01',
      '__proto__:',
      'constructor: ',
      'x-a: 1',
      'auth: {type: bearer, tokens: [a]}',
      '\ufeff',
      '\u2028',
    ],
  ],
  maxLength: 1200,
  ciRuns: 1_200,
  budget: 500,
  async start() {
    return { run }
  },
}

const ENV = Object.freeze({ HOME: '/home', TOKEN: 't'.repeat(40) })

function run(text: string): void {
  const read = readConfiguration({ file: 'a.yaml', text }, ENV)
  const { configuration } = read
  const findings = [...read.findings, ...checkTogether([read]), ...lintTemplates(read, ENV)]
  fixFile(read, ENV)
  const errors = findings.filter(({ severity }) => severity === 'error')
  holds(configuration !== undefined || errors.length > 0, 'no configuration and no error')
  const lines = text.split(/\r\n|\n|\r/).length
  for (const { code, range, message } of findings) {
    holds(Object.hasOwn(CODES, code), 'a finding has an unknown code')
    holds(message.length > 0, 'a finding has no message')
    if (range)
      holds(
        range.start.line >= 1 &&
          range.end.line <= lines + 1 &&
          range.start.offset >= 0 &&
          range.start.offset <= range.end.offset &&
          range.end.offset <= text.length,
        'the place of a finding is outside of the file',
      )
  }
  formatText(findings, new Map([['a.yaml', text]]), { color: false })
}
