import { accessSync, constants, type Stats, statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { AuditSettings } from '../config/index.ts'
import type { Reporter } from '../findings/index.ts'
import { quote } from '../text/index.ts'
import { withoutEffect } from './check.ts'
import { SHORTEST_SECRET } from './fields/value-rules.ts'

/** @param path whose `path` is absolute */
export function checkAudit({ to, path, args, secret }: AuditSettings, report: Reporter): void {
  if (to === 'file' && path === undefined)
    report({
      code: 'missing-key',
      path: ['audit', 'to'],
      message: '`to: file` needs `path`',
      hint: 'Add for example `path: /var/log/plantgw/audit.jsonl`',
    })
  if (to !== 'file' && path !== undefined)
    report(withoutEffect(['audit', 'path'], `with \`to: ${to}\``, 'Write `to: file`, or remove `path`'))
  if (args !== 'hash' && secret !== undefined)
    report(
      withoutEffect(['audit', 'secret'], `with \`args: ${args}\``, 'Write `args: hash`, or remove `secret`'),
    )
  // The secret is not shown.
  if (secret !== undefined && secret.length < SHORTEST_SECRET)
    report({
      code: 'invalid-value',
      path: ['audit', 'secret'],
      message: `\`secret\` has fewer than ${SHORTEST_SECRET} characters`,
      hint: 'Make one with `openssl rand -base64 32`',
    })
  const fault = to === 'file' && path !== undefined ? faultOf(path) : undefined
  if (fault) report({ code: 'invalid-value', path: ['audit', 'path'], ...fault })
}

/** Why the gateway cannot create or append to a file. */
function faultOf(path: string): { message: string; hint: string } | undefined {
  const folder = dirname(path)
  const found = statsOf(path)
  if (found && !found.isFile())
    return { message: `${quote(path)} is not a file`, hint: 'Name a file in a folder that exists' }
  const parent = statsOf(folder)
  if (!parent?.isDirectory())
    return {
      message: `the folder ${quote(folder)} does not exist`,
      hint: 'Make it, for the user of the gateway only, or name another folder',
    }
  const what = found ? path : folder
  return mayUse(what, found ? constants.R_OK | constants.W_OK : constants.W_OK | constants.X_OK)
    ? undefined
    : {
        message: `this user may not write to ${quote(what)}`,
        hint: 'Give the user of the gateway the right to read and write it, or name another path',
      }
}

/** Undefined: missing or not accessible. */
function statsOf(path: string): Stats | undefined {
  try {
    return statSync(path)
  } catch {
    return undefined
  }
}

function mayUse(path: string, mode: number): boolean {
  try {
    accessSync(path, mode)
    return true
  } catch {
    return false
  }
}
