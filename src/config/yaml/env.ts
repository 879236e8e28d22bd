import type { Env } from '../model.ts'
import { secretOf } from '../secret-files.ts'
import { readsNoFiles } from '../tenant-env.ts'

/** A piece of the replaced text: `[start, end)` there comes from `[from, to)` of the text before. */
interface Piece {
  start: number
  end: number
  from: number
  to: number
  /** Whether the piece is unchanged text. */
  copied: boolean
}

interface EnvProblem {
  kind: 'unset' | 'syntax' | 'file'
  /** Name of the variable, path of the file with why it cannot be read, or the text that looks like a variable. */
  name: string
  /** Place in the text before the replacement. */
  from: number
  to: number
}

interface Replaced {
  text: string
  pieces: Piece[]
  problems: EnvProblem[]
}

/**
 * `$${`, `${NAME}`, `${NAME:default}`, or a similar text. No alternative reads past the next `${`, so the time is
 * linear.
 */
const FORM =
  /\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)(?::((?:[^}$]|\$(?!\{))*))?\}|\$\{[ \t]{0,8}[A-Za-z_](?:[^{}\n$]|\$(?!\{)){0,80}\}?/g

/** A value that is `$NAME`, or ends in it after a word, such as `Bearer $NAME`. */
const SHELL = /^(?:\w+ )?(\$[A-Z][A-Z0-9_]+)$/

/**
 * Replaces `${NAME}`, `${NAME:default}` and `${file:/path}`; `$${` gives `${`. A variable that is set but empty counts as set.
 * An unset one without a default stays as it is and is a problem. Other text stays as it is.
 */
export function replaceEnv(text: string, env: Env): Replaced {
  const pieces: Piece[] = []
  const problems: EnvProblem[] = []
  const [, bare] = SHELL.exec(text) ?? []
  if (bare) problems.push({ kind: 'syntax', name: bare, from: text.length - bare.length, to: text.length })
  let out = ''
  let last = 0
  const add = (piece: string, from: number, to: number, copied: boolean) => {
    pieces.push({ start: out.length, end: out.length + piece.length, from, to, copied })
    out += piece
  }
  for (const match of text.matchAll(FORM)) {
    const { index } = match
    const end = index + match[0].length
    if (index > last) add(text.slice(last, index), last, index, true)
    last = end
    const [whole, name, fallback] = match
    if (whole === '$${') {
      add('${', index, end, false)
      continue
    }
    if (name === undefined) {
      problems.push({ kind: 'syntax', name: whole, from: index, to: end })
      add(whole, index, end, true)
      continue
    }
    if (name === 'file' && fallback !== undefined) {
      const secret = readsNoFiles(env)
        ? { fault: OF_TENANT }
        : fallback.startsWith('/')
          ? secretOf(env, fallback)
          : { fault: 'the path is not absolute' }
      if ('fault' in secret)
        problems.push({ kind: 'file', name: `${fallback}: ${secret.fault}`, from: index, to: end })
      add('value' in secret ? secret.value : whole, index, end, 'fault' in secret)
      continue
    }
    const value = (Object.hasOwn(env, name) ? env[name] : undefined) ?? fallback
    if (value === undefined) problems.push({ kind: 'unset', name, from: index, to: end })
    else if (fallback !== undefined && (/^[-?=+]/.test(fallback) || OF_OTHERS.has(name)))
      problems.push({ kind: 'syntax', name: whole, from: index, to: end })
    add(value ?? whole, index, end, value === undefined)
  }
  if (last < text.length) add(text.slice(last), last, text.length, true)
  return { text: out, pieces, problems }
}

/** Begin a reference in files of other programs: `${env:NAME}`, `${input:NAME}`. */
const OF_OTHERS: ReadonlySet<string> = new Set(['env', 'input', 'secret', 'secrets', 'var'])

const OF_TENANT = 'configurations of a tenant have no files read'

/** The place before the replacement of a place after it; a replaced piece counts as a whole. */
export function placeBefore(pieces: readonly Piece[], start: number, end: number): [number, number] {
  let from: number | undefined
  let to = 0
  for (const piece of pieces) {
    if (from === undefined && (start < piece.end || piece === pieces.at(-1))) {
      from = piece.copied ? piece.from + Math.max(0, start - piece.start) : piece.from
    }
    if (end > piece.start || (end === start && from !== undefined && to === 0)) {
      to = piece.copied ? piece.from + Math.min(end, piece.end) - piece.start : piece.to
    }
  }
  return [from ?? 0, Math.max(to, from ?? 0)]
}
