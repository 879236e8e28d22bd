import { dirname, isAbsolute, join } from 'node:path'
import type { Configuration, ReadConfiguration } from '../config/index.ts'
import { isFile } from '../config/plain-file.ts'
import { type Finding, toFinding } from '../findings/index.ts'
import { quote } from '../text/index.ts'
import { readSkills, type Skills, skillsStamp } from '../tools/skills/index.ts'

/** The skills of a configuration; none where it has no folder of them, or may not have files read. */
export async function skillsOf(
  read: ReadConfiguration & { configuration: Configuration },
  readsFiles: boolean,
): Promise<{ skills: Skills; findings: Finding[] }> {
  const { configuration, file } = read
  const folder = folderOf(file, configuration, readsFiles)
  if (folder === undefined) return { skills: [], findings: [] }
  const { skills, findings } = await readSkills(folder, folder)
  const prompts = new Set(configuration.prompts.map(({ name }) => name))
  const clash = skills.find(({ name }) => prompts.has(name))
  if (clash) {
    const message = `the skill ${quote(clash.name)} has the name of a prompt`
    const hint = 'Rename one of the two: clients without skills get them as prompts'
    findings.push(toFinding({ code: 'duplicate-name', path: ['skills'], message, hint }, read))
  }
  return { skills, findings }
}

/** Differs once the skills of a configuration do; empty where it has none. */
export function skillsStampOf(file: string, configuration: Configuration, readsFiles: boolean): string {
  const folder = folderOf(file, configuration, readsFiles)
  return folder === undefined ? '' : skillsStamp(folder)
}

/** Relative to the file; of a configuration that comes from elsewhere to the working folder, as for lock files. */
function folderOf(file: string, { skills }: Configuration, readsFiles: boolean): string | undefined {
  if (skills === undefined || !readsFiles) return undefined
  return isAbsolute(skills) || !isFile(file) ? skills : join(dirname(file), skills)
}
