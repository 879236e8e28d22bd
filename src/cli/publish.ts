import { Command } from 'commander'
import type { Route } from '../build/types.ts'
import { isObject, type JsonObject } from '../json/index.ts'
import { isHere } from '../net/index.ts'
import { prefixOf, previewOf } from './connect/chosen-prefixes.ts'
import { noSuch } from './options.ts'
import { jsonText, writeNew } from './output.ts'
import { loadSettings, settingsOption } from './settings.ts'

interface PublishFlags {
  settings?: string
  output?: string
  force?: boolean
}

const REGISTRY_SCHEMA = 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json'

export function publishCommand(exit: (code: number) => void): Command {
  return new Command('publish')
    .description(
      "Make the server.json entry for an MCP registry from the `card` of a prefix, and check it against the registry's rules. `mcp-publisher publish` sends it.",
    )
    .argument('[prefix]', 'for example /garden (default: the only one with a `card`)')
    .addOption(settingsOption("the gateway's settings file, with `storage` and `publicUrl`"))
    .option('-o, --output <file>', 'file to write, such as server.json (default: standard output)')
    .option('--force', 'overwrite an existing file')
    .action(async (prefix: string | undefined, flags: PublishFlags) => exit(await publish(prefix, flags)))
}

/** Exit codes: 0 success, 1 the registry would refuse it. */
async function publish(prefix: string | undefined, flags: PublishFlags): Promise<number> {
  const { settings, code } = loadSettings(flags.settings)
  if (!settings) return code
  if (!settings.storage)
    throw new Error('the settings have no `storage`: give those of the gateway by --settings')
  if (settings.publicUrl === undefined)
    throw new Error('the settings have no `publicUrl`: add the URL at which clients reach the gateway')
  const { routes } = await previewOf(settings)
  const entry = registryEntry(cardOf(prefix, [...routes.values()]))
  const faults = registryFaults(entry)
  for (const fault of faults) process.stderr.write(`plantgw: ${fault}\n`)
  if (faults.length > 0) return 1
  const text = jsonText(entry)
  if (flags.output === undefined) process.stdout.write(text)
  else writeNew(new Map([[flags.output, text]]), flags.force)
  return 0
}

/** @throws Error if there is no card, or the choice is ambiguous */
function cardOf(given: string | undefined, routes: readonly Route[]): JsonObject {
  const presented = new Map(
    routes.flatMap(({ prefix, card }) => (card ? [[prefix || '/', card] as const] : [])),
  )
  const all = [...presented.keys()]
  if (given === undefined) {
    const [only] = presented.values()
    if (only && all.length === 1) return only
    if (all.length > 1) throw new Error(`several prefixes have a \`card\`: give one of ${all.join(', ')}`)
    throw new Error(`no prefix has a \`card\`. ${EXAMPLE}`)
  }
  const prefix = prefixOf(given)
  const card = presented.get(prefix)
  if (card) return card
  const known = routes.map((route) => route.prefix || '/')
  if (known.includes(prefix)) throw new Error(`the router of ${prefix} has no \`card\`. ${EXAMPLE}`)
  throw new Error(noSuch(`the gateway has no prefix ${prefix}`, prefix, known, 'it serves none'))
}

const EXAMPLE =
  'Add one to its router, such as: card: {name: com.example/shop, version: 1.0.0, description: Orders of the shop}'

/** A registry entry is the server card without protocol revisions. */
function registryEntry({ remotes, ...card }: JsonObject): JsonObject {
  const kept = (Array.isArray(remotes) ? remotes : []).filter(isObject).map((remote) => {
    const { supportedProtocolVersions: _, ...rest } = remote
    return rest
  })
  return { ...card, $schema: REGISTRY_SCHEMA, remotes: kept }
}

const RANGE = /^[\^~<>=]|\|\||\s-\s|(?:^|\.)[xX*](?:\.|$)/

/** Faults for the registry beyond the configuration schema, as sentences. */
function registryFaults({ version, title, websiteUrl, remotes }: JsonObject): string[] {
  const urls = (remotes as JsonObject[]).map(({ url }) => String(url))
  const [url = ''] = urls.filter((one) => !isPublic(one))
  return [
    ...(version === 'latest' || RANGE.test(String(version))
      ? [`the \`version\` of the card must be one version, not \`latest\` or a range; got ${String(version)}`]
      : []),
    ...(title !== undefined && String(title).trim() === '' ? ['the `title` of the card is blank'] : []),
    ...(websiteUrl !== undefined && !URL.canParse(String(websiteUrl))
      ? [`the \`websiteUrl\` of the card is not a URL; got ${String(websiteUrl)}`]
      : []),
    ...(url === ''
      ? []
      : [
          `a registry only takes https URLs of public hosts; got ${url}: change \`publicUrl\` of the settings`,
        ]),
  ]
}

function isPublic(url: string): boolean {
  if (!URL.canParse(url)) return false
  return new URL(url).protocol === 'https:' && !isHere(new URL(url))
}
