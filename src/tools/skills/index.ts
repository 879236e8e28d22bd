import { isUtf8 } from 'node:buffer'
import { createHash } from 'node:crypto'
import { constants, lstatSync, readdirSync, realpathSync } from 'node:fs'
import { open, readdir, realpath, stat } from 'node:fs/promises'
import { basename, dirname, extname, join, relative, sep } from 'node:path'
import { type Finding, finding } from '../../findings/index.ts'
import { capital, notText, quote } from '../../text/index.ts'
import { readFrontMatter } from './front-matter.ts'

/** Files and folders below a folder of skills. */
const MAX_ENTRIES = 2_000
const MAX_DEPTH = 8
/** Limits that every client accepts (skills extension, Limits): files of a skill, and their total bytes. */
const MAX_BYTES = 16 * 1024 * 1024

/** By extension; others are text or bytes, as they are. */
const TYPES: Readonly<Record<string, string>> = {
  '.md': 'text/markdown',
  '.json': 'application/json',
  '.yaml': 'application/yaml',
  '.yml': 'application/yaml',
  '.csv': 'text/csv',
  '.html': 'text/html',
  '.py': 'text/x-python',
  '.js': 'text/javascript',
  '.sh': 'application/x-sh',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.gif': 'image/gif',
  '.webp': 'image/webp',
  '.pdf': 'application/pdf',
}

/** A file below the folder, by its path there with `/`. */
interface Found {
  path: string
  /** Where it is read. */
  real: string
}

/**
 * Reads the skills of a folder: each folder in or below it that holds a SKILL.md. Hidden files are passed over; links
 * lead to files within the folder only. Never throws.
 * @param shown the folder as findings name it
 */
export async function readSkills(
  folder: string,
  shown: string,
): Promise<{ skills: Skills; findings: Finding[] }> {
  const findings: Finding[] = []
  const found = await filesOf(folder, shown, findings)
  if (!found) return { skills: [], findings }
  const roots = found.flatMap(({ path }) =>
    basename(path) === SKILL_FILE && path !== SKILL_FILE ? dirname(path) : [],
  )
  reportMisnamed(found, roots, shown, findings)
  const kept = found.filter(({ path }) => roots.some((root) => path.startsWith(`${root}/`)))
  const files = await readAll(kept, shown, findings)
  const skills = roots.flatMap((root) => {
    const own = [...files].flatMap(([path, file]) => (path.startsWith(`${root}/`) ? file : []))
    return skillOf(root, own, shown, findings) ?? []
  })
  const first = new Map<string, Skill>()
  for (const skill of skills) {
    const other = first.get(skill.name)
    first.set(skill.name, other ?? skill)
    if (!other) continue
    const fileOf = ({ uri }: Skill) => join(shown, pathOf(uri))
    findings.push(
      finding('skill-name', fileOf(skill), `there are two skills ${quote(skill.name)}`, {
        hint: 'Rename one of them and its folder',
        related: [{ file: fileOf(other), message: 'the first one is here' }],
      }),
    )
  }
  if (roots.length === 0 && findings.length === 0)
    findings.push(
      finding('skill-folder', shown, 'the folder contains no skills', {
        severity: 'warning',
        hint: `Add a folder with a ${SKILL_FILE}, or remove \`skills\``,
      }),
    )
  return { skills, findings }
}

/** A file that is meant to be a SKILL.md, but has its name in other letters. */
function reportMisnamed(
  found: readonly Found[],
  roots: readonly string[],
  shown: string,
  findings: Finding[],
): void {
  for (const { path } of found) {
    const name = basename(path)
    if (name === SKILL_FILE || name.toLowerCase() !== SKILL_FILE.toLowerCase()) continue
    if (roots.some((root) => path.startsWith(`${root}/`))) continue
    findings.push(
      finding(
        'skill-file',
        join(shown, path),
        `the file is named ${quote(name)}, so it is not served as a skill`,
        {
          severity: 'warning',
          hint: `Rename it to ${SKILL_FILE}`,
        },
      ),
    )
  }
}

function skillOf(
  root: string,
  files: readonly SkillFile[],
  shown: string,
  findings: Finding[],
): Skill | undefined {
  const file = join(shown, root, SKILL_FILE)
  const uri = uriOf(`${root}/${SKILL_FILE}`)
  const main = files.find((one) => one.uri === uri)
  // Unreadable files have a finding already.
  if (!main) return undefined
  const refuse = (message: string, hint: string) => {
    findings.push(finding('skill-file', file, message, { hint }))
    return undefined
  }
  const size = files.reduce((sum, { bytes }) => sum + bytes.length, 0)
  if (files.length > 512 || size > MAX_BYTES)
    return refuse(`the skill has more than 512 files or 16 MiB`, 'Remove files, or split the skill')
  const fault = notText(main.bytes)
  if (fault) return refuse(`the file is ${fault.what}`, capital(fault.cure))
  const text = main.bytes.toString()
  const matter = readFrontMatter({ file, text }, basename(root), findings)
  if (!matter) return undefined
  const { name, description, values, instructions } = matter
  return { uri, name, description, frontmatter: values, instructions, files }
}

/** Every file below a folder, by path; undefined: the folder cannot be read. */
async function filesOf(folder: string, shown: string, findings: Finding[]): Promise<Found[] | undefined> {
  const report = (code: 'skill-folder' | 'skill-file', path: string, message: string, hint: string) =>
    void findings.push(finding(code, join(shown, path), message, { hint }))
  const top = await realpath(folder).catch(() => undefined)
  if (top === undefined || !(await stat(top)).isDirectory()) {
    report(
      'skill-folder',
      '',
      'the folder of `skills` does not exist',
      'Correct the path: it is relative to the file',
    )
    return undefined
  }
  const found: Found[] = []
  const todo: { path: string; depth: number }[] = [{ path: '', depth: 0 }]
  let entries = 0
  for (let next = todo.pop(); next; next = todo.pop()) {
    const { path: parent, depth } = next
    const listed = await readdir(join(top, parent), { withFileTypes: true }).catch(() => undefined)
    if (!listed) report('skill-file', parent, 'the folder cannot be read', 'Correct its rights')
    for (const entry of listed ?? []) {
      if (entry.name.startsWith('.')) continue
      const path = parent ? `${parent}/${entry.name}` : entry.name
      if (++entries > MAX_ENTRIES) {
        report(
          'skill-folder',
          '',
          `the folder has more than ${MAX_ENTRIES} files`,
          'Name a folder of skills alone',
        )
        return undefined
      }
      if (entry.isDirectory()) {
        if (depth < MAX_DEPTH) todo.push({ path, depth: depth + 1 })
        else report('skill-file', path, `the folder is more than ${MAX_DEPTH} levels deep`, 'Move it up')
        continue
      }
      const real = entry.isSymbolicLink() ? await targetOf(join(top, path), top) : join(top, path)
      if (real === undefined)
        report('skill-file', path, 'the link does not lead to a file within the folder', 'Copy the file')
      else if (path === SKILL_FILE)
        report(
          'skill-folder',
          path,
          'the skill has no folder of its own',
          'Move it into a folder of its name',
        )
      else found.push({ path, real })
    }
  }
  return found.sort((a, b) => (a.path < b.path ? -1 : 1))
}

/** The file within the folder that a link points to. */
async function targetOf(link: string, top: string): Promise<string | undefined> {
  const real = await realpath(link).catch(() => undefined)
  if (real === undefined || relative(top, real).split(sep)[0] === '..') return undefined
  return (await stat(real).catch(() => undefined))?.isFile() ? real : undefined
}

async function readAll(
  found: readonly Found[],
  shown: string,
  findings: Finding[],
): Promise<Map<string, SkillFile>> {
  const files = new Map<string, SkillFile>()
  // Bytes of all skills of a folder, which stay in memory.
  let rest = 64 * 1024 * 1024
  for (const { path, real } of found) {
    const bytes = await readBytes(real, Math.min(rest, MAX_BYTES))
    if (typeof bytes === 'string') {
      findings.push(
        finding('skill-file', join(shown, path), bytes, { hint: 'Remove it, or correct its rights' }),
      )
      continue
    }
    rest -= bytes.length
    const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`
    const mimeType =
      TYPES[extname(path).toLowerCase()] ?? (isUtf8(bytes) ? 'text/plain' : 'application/octet-stream')
    files.set(path, { uri: uriOf(path), name: basename(path), mimeType, digest, bytes })
  }
  return files
}

/** The bytes of a file, or why there are none. */
async function readBytes(path: string, most: number): Promise<Buffer | string> {
  // Neither a link that was put there since, nor a pipe that never gives anything.
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK
  const handle = await open(path, flags).catch(() => undefined)
  if (!handle) return 'the file cannot be read'
  try {
    const stats = await handle.stat()
    if (!stats.isFile()) return 'it is not a file'
    if (stats.size > most) return 'the file is too large: a skill may have 16 MiB, all of a folder 64 MiB'
    const bytes = Buffer.alloc(stats.size)
    let length = 0
    for (let read = -1; read !== 0 && length < bytes.length; length += read)
      read = (await handle.read(bytes, length, bytes.length - length)).bytesRead
    return bytes.subarray(0, length)
  } catch {
    return 'the file cannot be read'
  } finally {
    await handle.close()
  }
}

function uriOf(path: string): string {
  return `skill://${path.split('/').map(encodeURIComponent).join('/')}`
}

function pathOf(uri: string): string {
  return uri.slice('skill://'.length).split('/').map(decodeURIComponent).join('/')
}

/** Differs once something below the folder does; nothing is read. Never throws. */
export function skillsStamp(folder: string): string {
  const hash = createHash('sha256')
  let entries = 0
  const look = (path: string, depth: number) => {
    const listed = readdirSync(path, { withFileTypes: true })
    for (const entry of listed.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      if (entry.name.startsWith('.') || ++entries > MAX_ENTRIES) continue
      const below = join(path, entry.name)
      // A link changes when its target does.
      const real = entry.isSymbolicLink() ? realpathSync(below) : below
      const { ino, size, mtimeMs, ctimeMs } = lstatSync(real)
      hash.update(JSON.stringify([below, real, ino, size, mtimeMs, ctimeMs]))
      if (entry.isDirectory() && depth < MAX_DEPTH) look(below, depth + 1)
    }
  }
  try {
    look(folder, 0)
  } catch (error) {
    hash.update(String((error as NodeJS.ErrnoException).code))
  }
  return hash.digest('base64url')
}

/** An Agent Skill (agentskills.io) as the skills extension of MCP serves it (`io.modelcontextprotocol/skills`, stable). */

export interface SkillFile {
  /** `skill://<path of the skill>/<path of the file>`. */
  uri: string
  /** Last segment of its path. */
  name: string
  mimeType: string
  /** Digest of the bytes: `sha256:` and 64 hexadecimal digits. */
  digest: string
  bytes: Buffer
}

export interface Skill {
  /** URI of its SKILL.md. */
  uri: string
  name: string
  description: string
  /** The whole front matter as JSON, `name` and `description` included. */
  frontmatter: Readonly<Record<string, unknown>>
  /** Text of SKILL.md after the front matter. */
  instructions: string
  /** All its files by path, including those of skills within it. */
  files: readonly SkillFile[]
}

/** The skills of one folder, by path. */
export type Skills = readonly Skill[]

/** Identifies the extension in capabilities. */
export const SKILLS_EXTENSION = 'io.modelcontextprotocol/skills'
/** The file that makes a folder a skill. */
export const SKILL_FILE = 'SKILL.md'
