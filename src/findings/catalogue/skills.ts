import type { CodeInfo } from '../codes.ts'

/** The folder of `skills`, and what is in it. */
export const SKILLS = {
  'skill-folder': {
    severity: 'error',
    title: 'A folder of skills that cannot be served',
    cause:
      'The folder that `skills` names does not exist or holds more than 2,000 files and folders, or a SKILL.md has no folder of its own. A folder without skills is a warning.',
    fix: 'Correct the path, which is relative to the folder of the configuration file; put each skill into a folder of its name.',
  },
  'skill-file': {
    severity: 'error',
    title: 'A file of a skill that cannot be served',
    cause:
      'A file cannot be read, is a link out of the folder of `skills`, is not a file, or is too large: clients take skills of up to 512 files and 16 MiB. Or its name is SKILL.md in other letters, such as skill.md (a warning): it is not served.',
    fix: 'Copy what a link leads to into the folder, remove what is too large, correct the rights of the file, or rename it to SKILL.md.',
  },
  'skill-front-matter': {
    severity: 'error',
    title: 'A SKILL.md without sound front matter',
    cause:
      'A SKILL.md begins with YAML between two lines `---`. It has a `name`, a `description` of up to 1,024 characters, and `compatibility`, if at all, of up to 500: clients refuse a skill without them.',
    fix: 'Write both keys, as the [format](https://agentskills.io/specification) wants them.',
  },
  'skill-name': {
    severity: 'error',
    title: 'A name that a skill cannot have',
    cause:
      'The name of a skill is that of its folder: 1 to 64 lower-case letters, digits and single hyphens. Two skills of one folder cannot have the same name, as clients without skills get them as prompts.',
    fix: 'Rename the skill and its folder.',
  },
} as const satisfies Record<string, CodeInfo>
