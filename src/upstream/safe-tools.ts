import type { McpServer } from '../config/model.ts'
import type { Json } from '../json/index.ts'
import { isObject } from '../mcp/index.ts'

/** Maximum tools remembered for a server, and characters of their names. */
const MAX_TOOLS = 10_000
const MAX_NAME = 256

interface Hints {
  readOnlyHint: boolean
  idempotentHint: boolean
}

/**
 * A server's tools, by its own names, that are safe to call twice: `readOnlyHint` or `idempotentHint` in its latest
 * list or, with precedence, in `toolOverrides`.
 */
export class SafeTools {
  /** Hints of tools with at least one of them. */
  private readonly listed = new Map<string, Hints>()

  constructor(private readonly overrides: McpServer['toolOverrides']) {}

  /** @param tools of the server's list, or of a page of it */
  learn(tools: readonly Json[]): void {
    for (const tool of tools) {
      if (!isObject(tool) || typeof tool.name !== 'string') continue
      const { name, annotations } = tool
      const hints = isObject(annotations) ? annotations : {}
      const idempotentHint = hints.idempotentHint === true
      const readOnlyHint = hints.readOnlyHint === true
      if (!idempotentHint && !readOnlyHint) this.listed.delete(name)
      else if ((this.listed.size < MAX_TOOLS || this.listed.has(name)) && name.length <= MAX_NAME)
        this.listed.set(name, { readOnlyHint, idempotentHint })
    }
  }

  has(name: string): boolean {
    const own = Object.hasOwn(this.overrides, name) ? this.overrides[name]?.annotations : undefined
    const { readOnlyHint, idempotentHint } = { ...this.listed.get(name), ...own }
    return readOnlyHint === true || idempotentHint === true
  }
}
