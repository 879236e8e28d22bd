import { isUtf8 } from 'node:buffer'
import { type Json, type JsonObject, stringify } from '../json/index.ts'
import {
  CLIENT_CAPABILITIES,
  declares,
  INVALID_PARAMS,
  isObject,
  metaOf,
  resourceNotFound,
} from '../mcp/index.ts'
import { cut, withoutHidden } from '../text/index.ts'
import { SKILLS_EXTENSION, type Skill, type SkillFile, type Skills } from './skills/index.ts'
import type { Method, MethodAnswer, PromptDefinition, PromptResult } from './types.ts'

/** JSON text of the entries of `skills/list`. */
export function listedSkills(skills: Skills): string {
  return stringify(skills.map(entryOf))
}

/**
 * Methods and resources of skills.
 * @param listed JSON text of the entries; absent: none
 */
export function skillMethods(skills: Skills, listed: string | undefined): Map<string, Method> {
  if (listed === undefined) return new Map()
  const files = new Map(skills.flatMap((skill) => skill.files.map((file) => [file.uri, file] as const)))
  const entries = new Map(skills.map((skill) => [skill.uri, skill]))
  const mains = new Map(skills.map((skill) => [skill.uri, skill.description]))
  const resources = [...files.values()].map((file) => resourceOf(file, mains.get(file.uri)))
  return new Map<string, Method>([
    ['skills/list', list('skills', listed)],
    [
      'skills/get',
      async ({ uri }) => {
        const skill = typeof uri === 'string' ? entries.get(uri) : undefined
        if (skill) return { result: stringify({ skill: entryOf(skill) }) }
        return { error: { code: INVALID_PARAMS, message: `No skill is served at ${cut(String(uri), 200)}` } }
      },
    ],
    ['resources/list', list('resources', stringify(resources))],
    ['resources/templates/list', list('resourceTemplates', '[]')],
    [
      'resources/read',
      async ({ uri }, { revision }) => {
        const file = typeof uri === 'string' ? files.get(uri) : undefined
        if (file) return { result: stringify({ contents: [contentOf(file)] }) }
        return { error: resourceNotFound(cut(String(uri), 200), revision) }
      },
    ],
  ])
}

/** Answers a list of one page. @param text JSON of its items */
export function list(key: string, text: string): Method {
  const answer: MethodAnswer = { result: `{"${key}":${text}}` }
  const message = 'Invalid cursor: the list is one page, ask without a cursor'
  return async ({ cursor }) => (cursor === undefined ? answer : { error: { code: INVALID_PARAMS, message } })
}

/** Whether the client supports skills, and so needs no prompts for them. */
export function usesSkills(params: JsonObject): boolean {
  const capabilities = metaOf(params)[CLIENT_CAPABILITIES]
  return isObject(capabilities) && declares(capabilities, ['extensions', SKILLS_EXTENSION])
}

/** A skill as a prompt, for clients without skills support. */
export function promptOf({ name, description }: Skill): PromptDefinition {
  return { name, description: withoutHidden(description), arguments: [] }
}

export function promptResultOf({ uri, description, instructions, files }: Skill): PromptResult {
  const root = uri.slice(0, uri.lastIndexOf('/') + 1)
  const where = files.length > 1 ? `\n\nRelative paths in these instructions are resources below ${root}` : ''
  const text = withoutHidden(instructions) + where
  return {
    description: withoutHidden(description),
    messages: [{ role: 'user', content: { type: 'text', text } }],
  }
}

/** `Skill` of the extension. */
function entryOf({ uri, frontmatter, files }: Skill): JsonObject {
  const resources = files.map(({ uri, digest, bytes }) => ({ uri, digest, size: bytes.length }))
  return { uri, frontmatter: frontmatter as JsonObject, resources }
}

function resourceOf({ uri, name, mimeType, bytes }: SkillFile, description: string | undefined): JsonObject {
  const size = bytes.length
  // A SKILL.md is named after its skill (Resource Metadata).
  if (description === undefined) return { uri, name, mimeType, size }
  const [skill = name] = uri.split('/').slice(-2)
  return { uri, name: skill, description: withoutHidden(description), mimeType, size }
}

/** Bytes stay unchanged, because clients compare their digest. */
function contentOf({ uri, mimeType, bytes }: SkillFile): Json {
  return isUtf8(bytes)
    ? { uri, mimeType, text: bytes.toString() }
    : { uri, mimeType, blob: bytes.toString('base64') }
}
