import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import type { Env, McpServer } from '../config/index.ts'
import type { Step } from './types.ts'

/** Looks for the program of a server over stdio as starting it would, without starting it. */
export function checkCommand({ command = '', env: own }: McpServer, env: Env): Step {
  const path = own.PATH ?? env.PATH ?? ''
  const places = command.includes('/') ? [command] : path.split(delimiter).map((each) => join(each, command))
  const found = places.map((place) => [place, look(place)] as const)
  const sound = found.find(([, what]) => what === 'program')
  if (sound) return { name: 'command', status: 'ok', detail: sound[0] }
  const failed = (detail: string, hint: string): Step => ({
    name: 'command',
    status: 'failed',
    detail,
    hint,
    code: 'command-not-found',
  })
  const locked = found.find(([, what]) => what === 'locked')
  if (locked) return failed(`\`${locked[0]}\` may not be run`, 'Make it executable: `chmod +x`')
  return command.includes('/')
    ? failed(
        `there is no program \`${command}\``,
        'Correct the path; it counts from where the gateway starts',
      )
    : failed(`there is no program \`${command}\` in PATH`, 'Install it, or write its whole path')
}

function look(path: string): 'program' | 'locked' | undefined {
  try {
    if (!statSync(path).isFile()) return undefined
  } catch {
    return undefined
  }
  try {
    accessSync(path, constants.X_OK)
    return 'program'
  } catch {
    return 'locked'
  }
}
