import type { Operation } from './operations.ts'

/** Which operations are wanted; what is not given leaves nothing out. */
export interface Selection {
  /** It has one of these tags, in any case of letters. */
  tags?: readonly string[]
  /** One of them matches its `operationId`, or its method and path, such as `GET /pets/{id}`. */
  include?: readonly RegExp[]
  /** None of them does. */
  exclude?: readonly RegExp[]
}

export function isSelected(
  { tags, id, shown }: Operation,
  { tags: wanted, include, exclude }: Selection,
): boolean {
  const matches = (regex: RegExp) => regex.test(shown) || (id !== undefined && regex.test(id))
  if (wanted?.length) {
    const own = new Set(tags.map((tag) => tag.toLowerCase()))
    if (!wanted.some((tag) => own.has(tag.toLowerCase()))) return false
  }
  if (include?.length && !include.some(matches)) return false
  return !exclude?.some(matches)
}
