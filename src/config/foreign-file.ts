import { isObject, type Json, type JsonObject } from '../json/index.ts'
import type { Path } from './model.ts'
import { loadSchema } from './schemas.ts'

/** The expected kind of a file. */
type Wanted = 'configuration' | 'settings' | 'openapi' | 'postman' | 'har' | 'curl' | 'mcp' | 'unla'

/** A file of another kind than the one it was given for. */
interface ForeignFile {
  /** With its article: `a Postman collection`. */
  what: string
  /** The key that shows it. */
  path: Path
  /** The remedy. */
  hint: string
}

/**
 * Recognizes a file of another format, by keys that no misspelt file of ours has; undefined: it may be
 * ours.
 * @param file for the command in the hint
 */
export function foreignFile(value: Json, wanted: Wanted, file: string): ForeignFile | undefined {
  if (!isObject(value)) return undefined
  for (const { what, shownBy, use } of KINDS) {
    const path = shownBy(value, wanted)
    if (!path || (typeof use === 'object' && use.import === wanted)) continue
    return { what, path, hint: typeof use === 'string' ? use : convertWith(use.import, file) }
  }
  return undefined
}

/** How files begin that are often too large to be read as a configuration. */
const BEGINNINGS: readonly [begin: RegExp, what: string, command: string][] = [
  [/^\uFEFF?\s*(?:\{\s*)?"?(?:openapi|swagger)"?\s*:/, 'an OpenAPI description', 'openapi'],
  [/^\uFEFF?\s*\{\s*"log"\s*:\s*\{\s*"(?:version|creator|entries)"/, 'a HAR file', 'har'],
  [/^\uFEFF?\s*\{\s*"info"\s*:\s*\{\s*"(?:_postman_id|name)"/, 'a Postman collection', 'postman'],
]

/** The hint for a file that is too large: a converter, if its beginning shows the format. */
export function hintForLarge(text: string, file: string): string {
  const head = text.slice(0, 1000)
  const found = BEGINNINGS.find(([begin]) => begin.test(head))
  if (!found) return 'Split it'
  const [, what, command] = found
  return `It seems to be ${what}. ${convertWith(command, file)}`
}

function convertWith(command: string, file: string): string {
  return `Convert it: \`plantgw import ${command} ${/^[\w./@+-]{2,}$/.test(file) ? file : 'FILE'}\``
}

interface Kind {
  what: string
  shownBy(value: JsonObject, wanted: Wanted): Path | undefined | false
  /** The import that reads it, or an instruction. */
  use: string | { import: 'openapi' | 'postman' | 'har' | 'mcp' | 'unla' }
}

/** Every configuration of ours has one of these keys; a file of an MCP client has none. */
const isOurs = (value: JsonObject) => ['name', 'routers', 'tools', 'prompts'].some((key) => key in value)
const isDescription = ({ paths, info }: JsonObject) => isObject(paths) || isObject(info)
const someMember = (value: Json | undefined, is: (member: JsonObject) => boolean) =>
  isObject(value) && Object.values(value).some((member) => isObject(member) && is(member))
const startsServers = (servers: Json | undefined) =>
  someMember(servers, (one) => ['command', 'url', 'serverUrl', 'httpUrl'].some((key) => key in one))

const GIVE_OURS = 'Give the configurations themselves, or their folder'

/** Each by what its format demands. */
const KINDS: readonly Kind[] = [
  {
    what: 'an OpenAPI description',
    shownBy: (value) => value.openapi !== undefined && isDescription(value) && ['openapi'],
    use: { import: 'openapi' },
  },
  {
    what: 'a Swagger description',
    shownBy: (value) => value.swagger !== undefined && isDescription(value) && ['swagger'],
    use: { import: 'openapi' },
  },
  {
    what: 'a Postman collection',
    shownBy: ({ info, item }) =>
      isObject(info) && Array.isArray(item) && ['info', 'schema' in info ? 'schema' : 'name'],
    use: { import: 'postman' },
  },
  {
    what: 'a HAR file',
    shownBy: ({ log }) => isObject(log) && Array.isArray(log.entries) && ['log', 'entries'],
    use: { import: 'har' },
  },
  {
    what: 'a file of MCP servers for a client or proxy',
    // As a list they are ours.
    shownBy: (value) => isObject(value.mcpServers) && !isOurs(value) && ['mcpServers'],
    use: { import: 'mcp' },
  },
  {
    what: 'a file of MCP servers for VS Code',
    shownBy: (value) => startsServers(value.servers) && !isOurs(value) && ['servers'],
    use: { import: 'mcp' },
  },
  {
    what: 'a settings file of VS Code',
    shownBy: ({ mcp }) => isObject(mcp) && startsServers(mcp.servers) && ['mcp', 'servers'],
    use: { import: 'mcp' },
  },
  {
    what: 'a Kubernetes manifest',
    shownBy: ({ apiVersion, kind }) => typeof apiVersion === 'string' && typeof kind === 'string' && ['kind'],
    use: 'Give the configurations themselves, such as the files in `data` of a ConfigMap',
  },
  {
    what: 'a Docker Compose file',
    shownBy: ({ services }) =>
      someMember(services, (one) => 'image' in one || 'build' in one) && ['services'],
    use: 'Give the configurations themselves, such as the files that a service mounts',
  },
  {
    what: 'a `package.json`',
    shownBy: ({ version, ...value }) =>
      typeof version === 'string' &&
      ['dependencies', 'devDependencies', 'scripts'].some((key) => isObject(value[key])) && ['version'],
    use: GIVE_OURS,
  },
  {
    what: 'a workflow of GitHub Actions',
    shownBy: ({ jobs }) => someMember(jobs, (one) => 'steps' in one || 'uses' in one) && ['jobs'],
    use: GIVE_OURS,
  },
  {
    what: 'a `tsconfig.json`',
    shownBy: ({ compilerOptions }) => isObject(compilerOptions) && ['compilerOptions'],
    use: GIVE_OURS,
  },
  {
    what: 'a Helm chart',
    shownBy: ({ apiVersion, version }) =>
      (apiVersion === 'v1' || apiVersion === 'v2') && version !== undefined && ['apiVersion'],
    use: GIVE_OURS,
  },
  {
    what: 'an AsyncAPI description',
    shownBy: ({ asyncapi, channels }) => asyncapi !== undefined && isObject(channels) && ['asyncapi'],
    use: 'Tools call HTTP APIs: give the OpenAPI description of the API to `plantgw import openapi`',
  },
  {
    what: 'an export of Insomnia',
    shownBy: ({ _type, type }) =>
      (_type === 'export' && ['_type']) ||
      (typeof type === 'string' && type.startsWith('collection.insomnia') && ['type']),
    use: 'Export it as HAR and convert that: `plantgw import har FILE`',
  },
  {
    what: 'a Postman environment',
    shownBy: ({ values, _postman_variable_scope }) =>
      Array.isArray(values) && _postman_variable_scope !== undefined && ['values'],
    use: 'Convert the collection: `plantgw import postman FILE`; its variables become those of the environment',
  },
  {
    what: 'an entry of an MCP registry',
    shownBy: ({ $schema, packages, remotes }) =>
      (Array.isArray(packages) || Array.isArray(remotes)) &&
      String($schema).includes('modelcontextprotocol') && ['$schema'],
    use: 'Write its server into `mcpServers` of a configuration',
  },
  {
    what: 'a settings file of Unla',
    shownBy: (value) => settingsOfUnla(value)[1] !== undefined && [settingsOfUnla(value)[0]!],
    use: { import: 'unla' },
  },
  {
    what: 'a settings file',
    // Settings of Unla have the same keys as ours.
    shownBy: (value, wanted) => wanted !== 'settings' && wanted !== 'unla' && isSettings(value),
    use: 'Pass it with `--settings`, and keep it out of the folders of configurations',
  },
  {
    what: 'a configuration',
    shownBy: (value, wanted) => wanted !== 'configuration' && isConfiguration(value),
    use: 'Serve it with `plantgw serve FILE`; settings belong in `plantgw.yaml`',
  },
]

/** Top keys that only settings of Unla have, or that only there have such members. */
function settingsOfUnla(value: JsonObject): string[] {
  const has = (key: string, ...members: string[]) => {
    const member = value[key]
    return isObject(member) && members.some((one) => one in member)
  }
  const shown = {
    storage: has('storage', 'database', 'disk', 'api'),
    notifier: has('notifier', 'role'),
    session: has('session', 'redis'),
    auth: has('auth', 'oauth2'),
    super_admin: has('super_admin', 'username', 'password'),
    tool_access: has('tool_access', 'internal_network'),
    tracing: has('tracing', 'enabled', 'endpoint'),
    jwt: has('jwt', 'secret_key'),
  }
  return Object.keys(value).filter((key) => Object.hasOwn(shown, key) && shown[key as keyof typeof shown])
}

/** More keys that only settings have than unknown ones, and none that only a configuration has. */
function isSettings(value: JsonObject): Path | undefined {
  const ours = loadSchema('configuration').schema.properties ?? {}
  const theirs = loadSchema('settings').schema.properties ?? {}
  const keys = Object.keys(value).filter(
    (key) => !key.startsWith('x-') && !(Object.hasOwn(ours, key) && Object.hasOwn(theirs, key)),
  )
  const known = keys.filter((key) => Object.hasOwn(theirs, key))
  if (keys.some((key) => Object.hasOwn(ours, key)) || known.length * 2 <= keys.length) return undefined
  return [known[0]!]
}

/** Two of the keys that only configurations have, and none that only settings have. */
function isConfiguration(value: JsonObject): Path | undefined {
  const theirs = loadSchema('settings').schema.properties ?? {}
  const telling = ['name', 'routers', 'servers', 'tools', 'prompts', 'mcpServers'].filter(
    (key) => key in value,
  )
  if (
    telling.length < 2 ||
    Object.keys(value).some((key) => Object.hasOwn(theirs, key) && key !== 'notifier')
  )
    return undefined
  return [telling[0]!]
}
