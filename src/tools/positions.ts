import type { ArgPosition } from '../config/model.ts'
import type { Json } from '../json/index.ts'
import { encodeCookie } from '../template/index.ts'
import { checkedHeader, checkSize, headerPlace, queryPairs, valueText, wireText } from './argument-text.ts'
import { argParts, PartWriter } from './multipart.ts'

/** A request under construction. */
export class RequestDraft {
  /** Alternating names and values. */
  readonly headers: string[] = []
  /** Percent-encoded pairs `name=value`. */
  readonly query: string[] = []
  /** Members of a JSON object body. */
  readonly members: [name: string, value: Json][] = []
  /** Parts of a multipart/form-data body. */
  parts: PartWriter | undefined

  /** @param maxSize maximum bytes of the body; multipart bodies fail as soon as they exceed it */
  constructor(private readonly maxSize: number) {}

  /** @throws CallError */
  header(name: string, value: string): void {
    this.headers.push(name, wireText(checkedHeader(name, value)))
  }

  /** @throws CallError */
  part(name: string, value: Json): void {
    this.parts ??= new PartWriter()
    for (const part of argParts(name, value)) checkSize(this.parts.write(part), this.maxSize)
  }
}

export interface Position {
  /** An argument used in the endpoint's template is not sent again. */
  inUrl?: true
  /** Adds the value of an argument to a request. @throws CallError */
  write(draft: RequestDraft, name: string, value: Json): void
}

/** How arguments of each position are sent, in the order used for imported tools. */
export const POSITIONS: Readonly<Record<ArgPosition, Position>> = {
  path: { inUrl: true, write() {} },
  query: {
    inUrl: true,
    write({ query }, name, value) {
      for (const pair of queryPairs(name, value)) query.push(pair)
    },
  },
  header: {
    write(draft, name, value) {
      const text = valueText(value)
      draft.header(name, headerPlace(name) === 'cookie' ? encodeCookie(text) : text)
    },
  },
  body: { write: ({ members }, name, value) => members.push([name, value]) },
  'form-data': { write: (draft, name, value) => draft.part(name, value) },
}
