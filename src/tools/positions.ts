import { type Arg, type ArgPosition, wireName } from '../config/model.ts'
import type { Json } from '../json/index.ts'
import { encodeCookie } from '../template/index.ts'
import { checkedHeader, checkSize, headerPlace, headerText, queryPairs, wireText } from './argument-text.ts'
import { argParts, PartWriter } from './multipart.ts'

/** A request under construction. */
export class RequestDraft {
  /** Alternating names and values. */
  readonly headers: string[] = []
  /** Percent-encoded pairs `name=value`. */
  readonly query: string[] = []
  readonly members: [arg: Arg, value: Json][] = []
  /** Parts of a multipart/form-data body. */
  parts: PartWriter | undefined

  /** @param maxSize maximum bytes of the body; multipart bodies fail as soon as they exceed it */
  constructor(private readonly maxSize: number) {}

  /** @throws CallError */
  header(name: string, value: string): void {
    this.headers.push(name, wireText(checkedHeader(name, value)))
  }

  /** @throws CallError */
  part(arg: Arg, value: Json): void {
    this.parts ??= new PartWriter()
    for (const part of argParts(arg.name, value))
      checkSize(this.parts.write({ ...part, name: wireName(arg) }), this.maxSize)
  }
}

export interface Position {
  /** An argument used in the endpoint's template is not sent again. */
  inUrl?: true
  /** Adds the value of an argument to a request. @throws CallError */
  write(draft: RequestDraft, arg: Arg, value: Json): void
}

/** How arguments of each position are sent, in the order used for imported tools. */
export const POSITIONS: Readonly<Record<ArgPosition, Position>> = {
  path: { inUrl: true, write() {} },
  query: {
    inUrl: true,
    write({ query }, arg, value) {
      query.push(...queryPairs(arg, value))
    },
  },
  header: {
    write(draft, arg, value) {
      const name = wireName(arg)
      const text = headerText(arg, value)
      draft.header(name, headerPlace(name) === 'cookie' ? encodeCookie(text) : text)
    },
  },
  body: { write: ({ members }, arg, value) => members.push([arg, value]) },
  'form-data': { write: (draft, arg, value) => draft.part(arg, value) },
}
