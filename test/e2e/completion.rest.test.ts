import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { run, temporaryFolder } from '../support/process.ts'

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
