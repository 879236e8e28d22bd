import type { Json } from '../json/index.ts'

/** Instructions of several servers, each under its name. @param first text before them */
export function mergeInstructions(
  all: readonly { name: string; text: Json | undefined }[],
  first?: string,
): string | undefined {
  const told = all.filter(({ text }) => typeof text === 'string' && text !== '')
  const parts = told.map(({ name, text }) => `${name}:\n${text}`)
  if (first) parts.unshift(first)
  return parts.length ? parts.join('\n\n') : undefined
}
