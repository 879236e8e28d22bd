import { createScanner, findNodeAtLocation, type Node, parseTree } from 'jsonc-parser'
import type { Json } from '../json/index.ts'

type Path = readonly (string | number)[]

/** How a file is written. */
interface Style {
  unit: string
  eol: string
}

/**
 * Sets a value in JSON with comments, and makes the objects and arrays that it is in. Nothing else changes.
 * @param text valid; commas behind the last member are allowed
 */
export function setAt(text: string, path: Path, value: Json): string {
  const root = parseTree(text, [], { allowTrailingComma: true }) as Node
  const node = findNodeAtLocation(root, [...path])
  const style = styleOf(text)
  if (node) return spliced(text, node.offset, node.length, written(value, indentAt(text, node.offset), style))
  const outer = path.slice(0, -1)
  const key = path.at(-1) as string | number
  const container = findNodeAtLocation(root, [...outer])
  if (!container) return setAt(text, outer, typeof key === 'number' ? [value] : { [key]: value })
  return inserted(text, container, key, value, style)
}

/** Removes a member, with its line if it is alone there. */
export function removeAt(text: string, path: Path): string {
  const root = parseTree(text, [], { allowTrailingComma: true }) as Node
  const node = findNodeAtLocation(root, [...path])
  const member = node?.parent?.type === 'property' ? node.parent : node
  const siblings = member?.parent?.children ?? []
  if (!member) return text
  const at = siblings.indexOf(member)
  const comma = commaBehind(text, endOf(member))
  const end = comma === undefined ? endOf(member) : comma + 1
  const container = member.parent as Node
  const inside = container.offset + 1
  const isOnly = (text.slice(inside, member.offset) + text.slice(end, endOf(container) - 1)).trim() === ''
  if (isOnly) return spliced(text, inside, container.length - 2, '')
  const before = siblings[at - 1]
  const rest = withoutLine(text, member.offset, end)
  const lastComma = comma === undefined && before ? commaBehind(text, endOf(before)) : undefined
  return lastComma === undefined ? rest : spliced(rest, lastComma, 1, '')
}

function inserted(text: string, container: Node, key: string | number, value: Json, style: Style): string {
  const { children = [], offset } = container
  const closing = endOf(container) - 1
  const outer = indentAt(text, offset)
  const [first] = children
  const isOwnLine = first && text.slice(lineStart(text, first.offset), first.offset).trim() === ''
  const indent = isOwnLine ? indentAt(text, first.offset) : outer + style.unit
  const name = typeof key === 'number' ? '' : `${JSON.stringify(key)}: `
  const last = children.at(-1)
  const comma = last && commaBehind(text, endOf(last))
  // Behind comments that follow the last member, which stay with it.
  const end = offset + text.slice(offset, closing).trimEnd().length
  const isBroken = text.slice(end, closing).includes('\n')
  const member = `${style.eol}${indent}${name}${written(value, indent, style)}${comma === undefined ? '' : ','}`
  const made = spliced(text, end, 0, isBroken ? member : `${member}${style.eol}${outer}`)
  return last && comma === undefined ? spliced(made, endOf(last), 0, ',') : made
}

function written(value: Json, indent: string, { unit, eol }: Style): string {
  return JSON.stringify(value, null, unit).replaceAll('\n', `${eol}${indent}`)
}

/** Two spaces in a file that is not indented. */
function styleOf(text: string): Style {
  return { unit: /^([ \t]+)["}\]]/m.exec(text)?.[1] ?? '  ', eol: text.includes('\r\n') ? '\r\n' : '\n' }
}

function spliced(text: string, at: number, length: number, by: string): string {
  return text.slice(0, at) + by + text.slice(at + length)
}

const endOf = ({ offset, length }: Node) => offset + length
const lineStart = (text: string, at: number) => text.lastIndexOf('\n', at - 1) + 1

function indentAt(text: string, at: number): string {
  return /^[ \t]*/.exec(text.slice(lineStart(text, at), at))?.[0] ?? ''
}

/** Where a comma follows, behind blanks and comments. */
function commaBehind(text: string, at: number): number | undefined {
  const scanner = createScanner(text, true)
  scanner.setPosition(at)
  scanner.scan()
  const found = scanner.getTokenOffset()
  return text[found] === ',' ? found : undefined
}

/** Removes a range, with its whole lines and a trailing comment if nothing else is on them. */
function withoutLine(text: string, from: number, to: number): string {
  const start = lineStart(text, from)
  const newline = text.indexOf('\n', to)
  const rest = text.slice(to, newline < 0 ? text.length : newline)
  const isAlone = text.slice(start, from).trim() === '' && /^\s*(?:\/\/.*)?$/.test(rest) && newline >= 0
  return isAlone ? spliced(text, start, newline + 1 - start, '') : spliced(text, from, to - from, '')
}
