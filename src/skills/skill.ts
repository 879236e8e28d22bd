/** An Agent Skill (agentskills.io) as the skills extension of MCP serves it (`io.modelcontextprotocol/skills`, stable). */

/** A file of a skill. */
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
