import type { ParameterStyle } from '../text/index.ts'

/** The rendering as seen by a function. */
export interface Host {
  /** Whether values print as in Go instead of the dialect. */
  readonly go: boolean
  /** Maximum UTF-16 units of a text, and items of a list, that a function may create. */
  readonly max: number
  /** Charges steps. @throws Fault `limit` */
  charge(steps: number): void
  /** Called when a missing value would be printed: throws in a URL, drops a header, does nothing elsewhere. */
  missing(): void
}

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
  /** Maximum nesting of blocks, parentheses and template calls. Default 500. */
  depth: number
  /** Maximum actions, iterations and function calls of one rendering. Default 1,000,000. */
  steps: number
  /** Maximum milliseconds of work of one `renderInTurns`. Default 10,000. */
  time: number
  /** Maximum UTF-16 units of the output, and of any intermediate text. Default 32 Mi. */
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
  /** Environment for `env`, read at compile time. Default: no variables. */
  env?: Readonly<Record<string, string | undefined>>
  /** The root's fields; reading any other is an error (Go's closed struct). Absent: the root is an open map. */
  roots?: Roots
  /** The template's own name for `{{template}}`. Default: none. */
  name?: string
  /** Whether Sprig's functions are available. Default true, but false for place `go`. */
  sprig?: boolean
  /** First path segments of values written by the author, which URLs do not escape. */
  trusted?: readonly string[]
  /**
   * How members of `.Args` are written in a URL's path. In any other caller's value a slash is then an error. Absent:
   * all slashes are encoded.
   */
  pathArgs?: Readonly<Record<string, PathArg>> | undefined
  /** Values printed as `***`, as is everything derived from them. Default: none. */
  secrets?: Secrets
  limits?: Partial<Limits>
}

export interface PathArg {
  /** Treatment of `/` and `\`. `encode`: part of one segment; `keep`: separates segments. Absent: forbidden. */
  slashes?: 'encode' | 'keep' | undefined
  /** Style of a value that is written by itself. Absent, as is `explode`: arrays and objects are JSON. */
  style?: ParameterStyle | 'deepObject' | undefined
  explode?: boolean | undefined
  /** Its name in a `matrix`. */
  as?: string | undefined
}

/** How slashes are handled. */
export type Slashes = NonNullable<PathArg['slashes']>

export interface Secrets {
  /** Whether the value at this path is or may contain a secret; empty path: the root as a whole. */
  isSecret(path: readonly string[]): boolean
  /** The same for a variable read by `env`; undefined: unknown name. */
  isSecretVariable(name: string | undefined): boolean
}

/**
 * A closed struct: each field is `true` (open below), a map, a text, a map of texts (unknown members are empty for
 * `index`), or closed again. A typed field missing in the data is empty.
 */
export interface Roots {
  readonly [field: string]: true | 'map' | 'string' | 'strings' | Roots
}

/** A fault of a template. Offsets are UTF-16 units into the source, `line` and `column` count from 1. */
export interface TemplateError {
  kind: 'parse' | 'context' | 'unescaped' | 'env'
  /** Set if a block begins here and never ends. */
  unclosed?: true
  /** The missing variable, for kind `env`. */
  variable?: string
  message: string
  hint?: string
  start: number
  end: number
  line: number
  column: number
}

/**
 * A path from the root that the template reads, such as `['Args', 'id']`, found at compile time; empty for the root as
 * a whole. List items have the path of their list.
 */
export interface Reference {
  path: readonly string[]
  start: number
  end: number
}

export interface Template {
  readonly source: string
  readonly references: readonly Reference[]
  /** The output if it depends on no data, else undefined. */
  readonly constant: string | undefined
  /**
   * Renders with `data` as the root.
   * @returns the text; undefined only for a header that must not be sent
   * @throws RenderError
   */
  render(data: unknown): string | undefined
  /** As `render`, but yields to the event loop from time to time. */
  renderInTurns(data: unknown): Promise<string | undefined>
}

export type Compiled = { template: Template; errors: [] } | { template: undefined; errors: TemplateError[] }

/** A failed rendering. The message contains the expression, but never a value. */
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
    /** Whether a value has the wrong type, regardless of its content. */
    readonly ofType = false,
  ) {
    super(message)
  }
}
