import { upper } from '../openapi/tool-names.ts'
import { isIdentifier, isSecretHeader, isSecretName } from '../text/index.ts'
import { foundSecrets, isSecretOption, isValue, isVariable } from './found-secrets.ts'

/** An environment variable that a configuration reads. */
export interface Variable {
  name: string
  /** Its purpose: `` `env` of github ``. */
  use: string
  /** Its secret value in the imported file, which no configuration or report has; absent: none. */
  value?: string
}

/** Variable names for the secrets of files, distinct for different values. */
export class Variables {
  /** Undefined: the file reads the variable without a value. */
  readonly #values = new Map<string, string | undefined>()
  readonly found: Variable[] = []

  /** Names read by texts, which cannot be used for secrets. */
  readonly #read: ReadonlySet<string>

  /** @param text JSON of everything imported */
  constructor(text: string) {
    const names = [...text.matchAll(REFERENCE)].map(([, kind = '', name = '']) => ownName(kind, name))
    const short = [...text.matchAll(/["=]\$([A-Za-z_]\w*)(?=["/])/g)].map(([, name = '']) => name)
    this.#read = new Set([...names, ...short])
  }

  /** A variable that the file itself reads. */
  keep(name: string, use: string): string {
    if (!this.#values.has(name)) {
      this.#values.set(name, undefined)
      if (name !== 'HOME') this.found.push({ name, use })
    }
    return name
  }

  /** Returns `${NAME}` for a secret. */
  take(wanted: string, owner: string, value: string, use: string): string {
    const isFree = (name: string) =>
      this.#values.has(name) ? this.#values.get(name) === value : !this.#read.has(name)
    const own = upper(wanted)
    const long = own.startsWith(`${upper(owner)}_`) ? own : upper(owner, wanted)
    let name = [own, long].find(isFree)
    for (let n = 2; name === undefined; n++) name = isFree(`${long}_${n}`) ? `${long}_${n}` : undefined
    if (!this.#values.has(name)) this.found.push({ name, use, value: value.replaceAll('{{"{"}}', '{') })
    this.#values.set(name, value)
    return `\${${name}}`
  }
}

/** Converts a client's server texts to configuration syntax. */
export class Texts {
  constructor(
    readonly variables: Variables,
    /** Name of the server. */
    readonly owner: string,
  ) {}

  env(name: string, value: string): string {
    const use = `\`env\` of ${this.owner}`
    if (isVariable(value)) return this.#plain(value, use)
    return isSecretName(name) && isValue(value)
      ? this.variables.take(name, this.owner, value, use)
      : this.#formed(value, name, use)
  }

  header(name: string, value: string): string {
    const use = `the header \`${name}\` of ${this.owner}`
    const [, scheme = '', credential = ''] =
      /^((?:Bearer|Basic|Token|ApiKey)\s+)?([\s\S]*)$/i.exec(value) ?? []
    if (!isSecretHeader(name) || isVariable(credential) || credential === '')
      return this.#formed(value, name, use)
    const wanted = /authorization$/i.test(name) ? upper(this.owner, 'token') : upper(this.owner, name)
    return scheme + this.variables.take(wanted, this.owner, credential, use)
  }

  url(url: string): string {
    return this.#formed(url, 'token', `the URL of ${this.owner}`)
  }

  token(value: string): string {
    return this.#secret(value, 'caller_token', `a token of the callers of ${this.owner}`)
  }

  /** It is no secret, but may be a variable. */
  clientId(value: string): string {
    return this.#plain(value, `the client of ${this.owner}`)
  }

  clientSecret(value: string): string {
    return this.#secret(value, upper(this.owner, 'client_secret'), `the client secret of ${this.owner}`)
  }

  #secret(value: string, wanted: string, use: string): string {
    return isVariable(value) ? this.#plain(value, use) : this.variables.take(wanted, this.owner, value, use)
  }

  /** Words of a command: secrets in `--token x`, `--token=x` and `TOKEN=x`, and by format. */
  args(words: readonly string[]): string[] {
    const use = `an argument of ${this.owner}`
    return words.map((word, i) => {
      const option = /^--?([A-Za-z][\w-]*)$/.exec(words[i - 1] ?? '')?.[1]
      // In a shell command, only the first word.
      const whole = /^(?:-e|--env)$/.test(words[i - 1] ?? '')
        ? /^(\w+)=([\s\S]+)$/
        : /^-{0,2}([A-Za-z][\w-]*)=(\S+)$/
      const [, key, value = ''] = whole.exec(word) ?? []
      const [name, secret] = key !== undefined ? [key, value] : [option, word]
      const isSecret = name !== undefined && isSecretOption(name) && isValue(secret)
      if (!isSecret || (key === undefined && secret.startsWith('-')) || isVariable(secret))
        return this.#formed(word, 'token', use)
      return (
        word.slice(0, word.length - secret.length) +
        this.variables.take(upper(this.owner, name), this.owner, secret, use)
      )
    })
  }

  /** Replaces the secrets in a text; unnamed ones get this name. */
  #formed(text: string, name: string, use: string): string {
    let made = ''
    let end = 0
    for (const one of foundSecrets(text)) {
      const wanted = /authorization$/i.test(one.name ?? '') ? 'token' : (one.name ?? name)
      made += this.#plain(text.slice(end, one.start), use)
      made += this.variables.take(upper(this.owner, wanted), this.owner, text.slice(one.start, one.end), use)
      end = one.end
    }
    return made + this.#plain(text.slice(end), use)
  }

  /** Converts client variables; expressions for a shell or client become variables. */
  #plain(text: string, use: string): string {
    return text
      .replace(/^(--?[\w-]+=)?~(?=\/|$)/, '$1$${HOME}')
      .replace(/^(--?[\w-]+=)?\$([A-Za-z_]\w*)(?=\/|$)/, '$1$${$2}')
      .replace(REFERENCE, (_, kind = '', name?: string, preset?: string) => {
        if (name === undefined) return '$${'
        if (name === 'pathSeparator') return '/'
        const own = this.variables.keep(ownName(kind, name), use)
        return preset === undefined || kind !== '' ? `\${${own}}` : `\${${own}:${preset}}`
      })
  }
}

/** `${NAME}`, `${NAME:-default}`, `${env:NAME}`, `${input:id}`, `${workspaceFolder}`; or a literal brace. */
const REFERENCE = /\$\{(?:(env|input|config|command):)?([\w.-]+)(?::-?([^{}]*))?\}|\$\{/g
const OF_CLIENTS = /^(?:workspaceFolder|userHome|cwd)/

function ownName(kind: string, name: string): string {
  if (name === 'userHome') return 'HOME'
  if (kind === 'config' || kind === 'command') return upper(kind, name)
  return isIdentifier(name) && kind !== 'input' && !OF_CLIENTS.test(name) ? name : upper(name)
}
