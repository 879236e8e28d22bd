/**
 * A page of docs/guides as a test. What its fenced blocks mean:
 *
 * - A block whose first line is a comment with a path, `# configs/shop.yaml` or `// mcp.json`, is that file.
 * - A `console` block holds commands after `$ `, each followed by what it prints. `…` stands for any text, alone on a
 *   line for any number of lines. A command of which the page shows nothing has to exit with 0.
 * - `plantgw serve` runs in the background until the page ends or starts the gateway again.
 * - Other blocks, such as `sh`, are only read.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { TestContext } from 'node:test'
import { shellWords } from '../../src/text/index.ts'
import { runInHost } from './command-host.ts'
import { BIN, freePort, plantgw, ROOT, type Running, temporaryFolder } from './process.ts'

interface Command {
  line: string
  output: string[]
}
export type Step = { path: string; text: string } | Command

/** Ports that pages name; each run has free ones in their place. */
const PORTS = ['5235', '5236', '8080']

/** What a page has its reader write and type, in order. */
export function stepsOf(page: string): Step[] {
  const steps: Step[] = []
  for (const [, language, body] of page.matchAll(/^```(\w*)[^\n]*\n(.*?)^```$/gms)) {
    if (language === 'console') steps.push(...commandsOf(body as string))
    else {
      const [, path, text] = /^(?:#|\/\/) (\S+)\n(.*)$/s.exec(body as string) ?? []
      if (path && /^[\w/-]*\.[\w.-]+$/.test(path)) steps.push({ path, text: text as string })
    }
  }
  return steps
}

function commandsOf(body: string): Command[] {
  const commands: Command[] = []
  let isOpen = false
  for (const line of body.trimEnd().split('\n')) {
    const last = commands.at(-1)
    if (line.startsWith('$ ')) commands.push({ line: line.slice(2), output: [] })
    else if (isOpen) (last as Command).line += `\n${line}`
    else last?.output.push(line)
    isOpen = (line.startsWith('$ ') || isOpen) && line.endsWith('\\')
  }
  return commands
}

/** Does what a page says, in a folder of its own. */
export async function follow(t: TestContext, page: string): Promise<void> {
  const folder = temporaryFolder(t)
  const free = new Set<number>()
  while (free.size < PORTS.length) free.add(await freePort())
  const ports = new Map([...free].map((port, i) => [PORTS[i] as string, String(port)]))
  const here = (text: string) => text.replace(/\b\d{4}\b/g, (digits) => ports.get(digits) ?? digits)
  const env = { PATH: `${tools(t)}:${process.env.PATH}`, HOME: folder, PLANTGW_PORT: here('5235') }
  let gateway: Running | undefined
  let status = 0
  for (const step of stepsOf(here(page))) {
    if ('path' in step) {
      mkdirSync(dirname(join(folder, step.path)), { recursive: true })
      writeFileSync(join(folder, step.path), step.text)
    } else if (/^plantgw serve\b(?!.*--print-routes)/.test(step.line)) {
      gateway?.child.kill('SIGINT')
      await gateway?.ended
      gateway = plantgw(t, step.line.split(' ').slice(1), { cwd: folder, env })
      await gateway.until(step.output.some((each) => each !== '…') ? pattern(step.output, '') : /serves/)
    } else {
      const done = await shell(step.line, folder, env, status)
      status = done.status
      if (step.output.some((each) => each !== '…'))
        assert.match(done.output.trimEnd(), pattern(step.output), `$ ${step.line}`)
      else assert.equal(status, 0, `$ ${step.line}\n${done.output}`)
    }
  }
}

/** What the output of a command has to be; of one that goes on running, what it begins with. */
function pattern(lines: readonly string[], end = '$'): RegExp {
  const parts = lines.map((line) =>
    line === '…' ? '[^]*?' : `${line.split('…').map(escaped).join('.*')} *(?:\\n|$)`,
  )
  return new RegExp(`^${parts.join('')}${end}`)
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
}

/** Runs a command as a terminal shows it: standard output and standard error in one. `$?` is the status of the last one. */
async function shell(line: string, cwd: string, env: Record<string, string>, status: number) {
  const [program, ...args] = (line.includes('$') ? undefined : shellWords(line)) ?? []
  if (program === 'plantgw') {
    const { code, stdout } = await runInHost({ args, cwd, env, isTerminal: true })
    return { status: Number(code), output: stdout }
  }
  return new Promise<{ status: number; output: string }>((resolve, reject) => {
    const child = spawn('bash', ['-c', `exec 2>&1\n(exit ${status})\n${line}`], {
      cwd,
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let output = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
    child.on('error', reject).on('close', (code) => resolve({ status: code ?? -1, output }))
  })
}

/** A folder for PATH: `plantgw` is the built one, and `npx` runs the packages that are installed here, without a network. */
function tools(t: TestContext): string {
  const folder = temporaryFolder(t)
  const main = `const {name, bin} = require(process.argv[1]); typeof bin === 'string' ? bin : Object.values(bin)[0]`
  const modules = join(ROOT, 'node_modules')
  const npx = [
    'while [ "$1" = -y ] || [ "$1" = --yes ]; do shift; done',
    'package=$1; shift',
    `[ "$package" = plantgw ] && exec ${process.execPath} ${BIN} "$@"`,
    `main=$(${process.execPath} -p "${main}" ${modules}/$package/package.json) || exit 127`,
    `exec ${process.execPath} ${modules}/$package/$main "$@"`,
  ]
  for (const [name, lines] of Object.entries({ plantgw: [`exec ${process.execPath} ${BIN} "$@"`], npx })) {
    writeFileSync(join(folder, name), ['#!/bin/sh', ...lines, ''].join('\n'))
    chmodSync(join(folder, name), 0o755)
  }
  return folder
}

/** The text of a page. */
export function guide(name: string): string {
  return readFileSync(join(ROOT, 'docs/guides', name), 'utf8')
}
