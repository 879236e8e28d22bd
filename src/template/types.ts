/**
 * Where the rendered text goes, which decides how values are escaped.
 * `go`: nothing is escaped and values print as Go prints them (for comparison with Go itself);
 * `text`: values print in the gateway's dialect, nothing is escaped;
 * `json`: a JSON body; `json-lines`: one with a value on each line; `xml`: an XML body;
 * `form`: an `application/x-www-form-urlencoded` body; `verbatim`: a body of another type, where a value from outside
 * needs `raw`; `url`: a whole URL; `header`: the value of one header; `cookie`: the value of a `Cookie` header;
 * `auto`: `json` when the template's own text is the frame of a JSON object or array, else `text`;
 * `auto-body`: `json-lines` when it is the frame of one or several, else `verbatim`.
 */
export type Place =
  | 'go'
  | 'text'
  | 'json'
  | 'json-lines'
  | 'xml'
  | 'form'
  | 'verbatim'
  | 'url'
  | 'header'
  | 'cookie'
  | 'auto'
  | 'auto-body'

export interface Limits {
  /** Nested blocks, parentheses and template calls. Default 500. */
  depth: number
  /** Actions, loop rounds and function calls of one rendering. Default 1,000,000. */
  steps: number
  /** Milliseconds of work of one rendering in turns. Default 10,000. */
  time: number
  /** UTF-16 units of one rendering's output, and of any text on the way. Default 32 Mi. */
  output: number
}

export const DEFAULT_TEMPLATE_LIMITS: Limits = {
  depth: 500,
  steps: 1_000_000,
  time: 10_000,
  output: 32 * 1024 * 1024,
}

export interface CompileOptions {
  place: Place
  /** What `env` reads; values are taken at compile time. Default: no variables. */
  env?: Readonly<Record<string, string | undefined>>
  /**
   * The fields the root has; any other is an error when it is evaluated (Go's closed struct).
   * Absent: the root is an open map.
   */
  roots?: Roots
  /** The template's own name, which `{{template}}` can call. Default: none. */
  name?: string
  /** Whether Sprig's functions are known. Default true, but false for place `go`. */
  sprig?: boolean
  /** First segments of a reference whose values the author wrote, and which URLs take as they are. */
  trusted?: readonly string[]
  /**
   * Members of `.Args` whose values may hold `/` and `\` in the path of a URL, and what becomes of it. A slash in any other
   * value of a caller is an error there. Absent: all slashes are encoded.
   */
  slashes?: Readonly<Record<string, Slashes>> | undefined
  /** Values whose text, and whatever is made of it, is printed as `***`. Default: none. */
  secrets?: Secrets
  limits?: Partial<Limits>
}

/** `encode`: as a part of one segment; `keep`: between segments. */
export type Slashes = 'encode' | 'keep'

export interface Secrets {
  /** Whether what stands at this path from the root is a secret, or may hold one; empty: the root as a whole. */
  isSecret(path: readonly string[]): boolean
  /** The same of a variable that `env` reads; undefined: which one is not known. */
  isSecretVariable(name: string | undefined): boolean
}

/**
 * A closed struct: each field is `true` (open below), a map, a text, a map of texts (whose unknown members are
 * empty for `index`), or closed again. A field of a named type that the data lacks is empty.
 */
export interface Roots {
  readonly [field: string]: true | 'map' | 'string' | 'strings' | Roots
}

/** What is wrong with a template. Offsets are UTF-16 units into the source, `line` and `column` count from 1. */
export interface TemplateError {
  kind: 'parse' | 'context' | 'unescaped' | 'env'
  /** The block that begins here has no end. */
  unclosed?: true
  /** The variable that is not there, of the kind `env`. */
  variable?: string
  message: string
  hint?: string
  start: number
  end: number
  line: number
  column: number
}

/**
 * A path from the root that the template reads, such as `['Args', 'id']`, found at compile time; empty for the
 * root as a whole. Items of a list have no path of their own, the list has.
 */
export interface Reference {
  path: readonly string[]
  start: number
  end: number
}

export interface Template {
  readonly source: string
  readonly references: readonly Reference[]
  /** The output when it depends on no data, else undefined. */
  readonly constant: string | undefined
  /**
   * Renders with `data` as the root.
   * @returns the text; undefined only in a `header`, when the whole value came out missing
   * @throws RenderError
   */
  render(data: unknown): string | undefined
  /** The same for what others send: a promise where it takes so long that it continues later. */
  renderInTurns(data: unknown): string | undefined | Promise<string | undefined>
}

export type Compiled = { template: Template; errors: [] } | { template: undefined; errors: TemplateError[] }

/** A rendering that failed. The message names the expression and never a value. */
export class RenderError extends Error {
  override name = 'RenderError'
  constructor(
    readonly kind: 'missing' | 'exec' | 'unsafe' | 'limit',
    message: string,
    readonly start: number,
    readonly end: number,
    readonly line: number,
    readonly column: number,
    readonly hint?: string,
    /** A value is of the wrong type, whatever it holds. */
    readonly ofType = false,
  ) {
    super(message)
  }
}
