import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { BIN, run, temporaryFolder } from '../support/process.ts'

const missing = (shell: string) => spawnSync(shell, ['--version']).error && `no ${shell} on this machine`

/** Words that a shell must offer, and some that it must not, after what was typed. */
const CASES: [typed: string, offers: string[], not: string[]][] = [
  ['plantgw ', ['serve', 'validate', 'check-endpoints', 'completion'], ['apply']],
  ['plantgw val', ['validate'], ['serve']],
  ['plantgw config ', ['apply', 'rollback'], ['serve']],
  ['plantgw config apply --', ['--file', '--tenant', '--message'], ['--to']],
  ['plantgw validate --for', ['--format'], ['--only']],
  ['plantgw validate --format ', ['json', 'sarif', 'github', 'junit'], ['serve']],
  ['plantgw validate configs --only tem', ['templates', 'template-syntax'], ['env']],
  ['plantgw explain unus', ['unused-tool', 'unused-ignore'], ['no-files']],
  ['plantgw completion ', ['bash', 'zsh', 'fish'], ['serve']],
]

/** How a shell is asked what it offers, one word in a line. */
const ASK: Record<string, (script: string, typed: string) => string[]> = {
  bash: (script, typed) => {
    const words = typed.split(' ').map((word) => `'${word}'`)
    const ask = `source ${script}; COMP_WORDS=(${words.join(' ')}); COMP_CWORD=${words.length - 1}; _plantgw; printf '%s\\n' "\${COMPREPLY[@]}"`
    return ['bash', '--norc', '-c', ask]
  },
  fish: (script, typed) => ['fish', '--no-config', '-c', `source ${script}; complete -C '${typed}'`],
  // Its completion wants a terminal.
  zsh: (script, typed) => [
    'zsh',
    '-f',
    '-c',
    `zmodload zsh/zpty; zpty z zsh -f -i; line() { zpty -w z "$1" }
line "PROMPT=@@; unsetopt zle_bracketed_paste beep; autoload -Uz compinit && compinit -D -u; source $1"
line "LISTMAX=0; bindkey '^I' list-choices; bindkey '^U' kill-whole-line"
line 'echo REA""DY'; zpty -r z out '*READY*@@*'
zpty -w -n z "$2"$'\\t'; zpty -w -n z $'\\C-u'; line 'echo DO""NE'; zpty -r z out '*DONE*'
print -r -- "$out"`,
    'ask',
    script,
    typed,
  ],
}

/** What a terminal shows, without where and how. */
function wordsOf(output: string): string[] {
  return output.replace(/\x1b\[[\d;?]*[A-Za-z]/g, '\n').split(/[\s]+/)
}

for (const shell of Object.keys(ASK))
  test(`completion of ${shell}`, { skip: missing(shell) ?? false }, async (t) => {
    const script = join(temporaryFolder(t), 'plantgw')
    const printed = await run(t, ['completion', shell])
    assert.equal(printed.code, 0, printed.stderr)
    writeFileSync(script, printed.stdout)
    for (const [typed, offers, not] of CASES) {
      const [command, ...args] = ASK[shell]!(script, typed)
      const { stdout, stderr } = spawnSync(command!, args, { encoding: 'utf8' })
      const words = wordsOf(stdout)
      for (const word of offers) assert.ok(words.includes(word), `${typed}: no ${word} in ${stdout}${stderr}`)
      for (const word of not) assert.ok(!words.includes(word), `${typed}: ${word}`)
    }
  })

const SHOP = `name: shop
routers: [{ server: orders, prefix: /shop }]
servers: [{ name: orders }]
tools: [{ name: find_order, method: GET, endpoint: "https://example.com" }]
`
/** What is known from configurations. */
const KNOWN: [typed: string, offers: string[], not: string[]][] = [
  ['plantgw call ', ['/shop', '/files'], ['find_order']],
  ['plantgw call /shop f', ['find_order'], ['/shop']],
  ['plantgw call /files ', [], ['find_order', '/shop']],
  ['plantgw tools -s plantgw.yaml /sh', ['/shop'], ['/files']],
  ['plantgw render configs/shop.yaml ', ['find_order'], ['shop']],
  ['plantgw config get s', ['shop'], ['files']],
  ['plantgw connect cursor ', ['/shop', '/files'], ['cursor']],
  ['plantgw serve --stdio --prefix /f', ['/files'], ['/shop']],
]

for (const shell of Object.keys(ASK))
  test(`completion of ${shell} knows prefixes, tools and configurations`, {
    skip: missing(shell) ?? false,
  }, async (t) => {
    const folder = temporaryFolder(t)
    mkdirSync(join(folder, 'configs'))
    const write = (name: string, text: string, mode = 0o644) =>
      writeFileSync(join(folder, name), text, { mode })
    write('plantgw.yaml', 'storage: { type: directory, path: configs }\n')
    write('configs/shop.yaml', SHOP)
    write(
      'configs/files.yaml',
      'name: files\nrouters: [{ server: files, prefix: /files }]\nmcpServers: [{ name: files, type: stdio, command: x }]\n',
    )
    write('configs/broken.yaml', 'name: [\n')
    write('plantgw', `#!/bin/sh\nexec "${process.execPath}" "${BIN}" "$@"\n`, 0o755)
    write('script', (await run(t, ['completion', shell])).stdout)
    const env = { ...process.env, PATH: `${folder}:${process.env.PATH}` }
    for (const [typed, offers, not] of KNOWN) {
      const [command, ...args] = ASK[shell]!(join(folder, 'script'), typed)
      const { stdout, stderr } = spawnSync(command!, args, { encoding: 'utf8', cwd: folder, env })
      const words = wordsOf(stdout)
      for (const word of offers) assert.ok(words.includes(word), `${typed}: no ${word} in ${stdout}${stderr}`)
      // A terminal shows what was typed, too.
      const echoed = shell === 'zsh' ? typed.split(' ') : []
      for (const word of not) assert.ok(echoed.includes(word) || !words.includes(word), `${typed}: ${word}`)
      assert.equal(stderr, '')
    }
  })

test('what completes is silent where something is wrong', async (t) => {
  const folder = temporaryFolder(t)
  for (const words of [
    ['render', 'none.yaml', ''],
    ['call'],
    ['config', 'get', '-s', 'none.yaml'],
    ['nonsense'],
  ]) {
    const { code, stdout, stderr } = await run(t, ['complete', '--', ...words], { cwd: folder })
    assert.deepEqual([code, stdout, stderr], [0, '', ''])
  }
})
