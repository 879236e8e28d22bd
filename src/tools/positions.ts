import type { ArgPosition } from '../config/model.ts'
import type { Json } from '../json/index.ts'
import { encodeCookie } from '../template/index.ts'
import { checkedHeader, checkSize, headerPlace, queryPairs, valueText, wireText } from './argument-text.ts'
import { argParts, PartWriter } from './multipart.ts'

/** A request while its arguments are put into it. */
export class RequestDraft {
  /** Names and values in turn. */
  readonly headers: string[] = []
  /** Pairs `name=value`, percent-encoded. */
  readonly query: string[] = []
  /** Members of the body as an object. */
  readonly members: [name: string, value: Json][] = []
  /** Parts of the body as multipart/form-data. */
  parts: PartWriter | undefined

  /** @param maxSize bytes of the body; a multipart body is given up as soon as it is larger */
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
  /** An argument that the endpoint's template names itself is not sent again. */
  inUrl?: true
  /** Puts the value of an argument into a request. @throws CallError */
  write(draft: RequestDraft, name: string, value: Json): void
}

/** What the arguments of each position become, in the order in which imported tools list them. */
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
