import { dirname } from 'node:path'
import { checkReading } from '../build/check-configurations.ts'
import { notifyGateways } from '../build/notify-gateways.ts'
import { applyTo, type ChangeOutcome, isVisible, readStored, rollBack } from '../build/store-changes.ts'
import type { Prepared } from '../build/types.ts'
import { maskSecrets, secretsIn } from '../checks/practice/leaked-secrets.ts'
import { writtenTenant } from '../checks/reader.ts'
import {
  type Identity,
  identityOf,
  leadsOutside,
  qualifiedName,
  readSource,
  type Settings,
} from '../config/index.ts'
import { type Finding, hasErrors } from '../findings/index.ts'
import { replaceText, versionOf } from '../store/directory.ts'
import type { ConfigurationStore, HistoryEntry } from '../store/index.ts'
import { serial } from '../store/lock.ts'
import { withoutEndSlashes } from '../text/index.ts'
import type { LiveTable } from './live.ts'

interface TextsParts {
  /** Files and folders that are served; empty with a store. */
  paths: readonly string[]
  store: ConfigurationStore | undefined
  settings: Settings
  live: LiveTable
}

/** Where the text of a configuration is. */
export interface Place {
  /** A path, or the store and the name. */
  place: string
  /** Absent: a file that was never served. */
  identity?: Identity
  /** Its served version. */
  served?: Prepared
}

/** A place, or a name and perhaps its tenant. */
interface Wanted {
  place?: string
  name?: string
  tenant?: string
}

/** A text as it is kept now, which may be newer than what is served. */
export interface KeptText {
  /** Secrets that are recognized are masked. */
  text: string
  version: string
  /** Why it cannot be edited; absent: it can. */
  readOnly?: string
}

/** Maximum characters of a text that can be edited or checked. */
const MAX_TEXT = 1024 * 1024

/** Maximum checks that run or wait, as one takes seconds for a text of that size. */
const MAX_WAITING = 4

/** The texts of configurations where they are kept, and changes of them. */
export interface ConfigurationTexts {
  /** Files with errors that have never been served. */
  broken(): string[]
  /** The place that a request means, if this tenant may see it. */
  find(wanted: Wanted, tenant?: string): Place | undefined
  read(at: Place): Promise<KeptText | undefined>
  /** Findings of `validate` for a new text, beside all that is served. @returns a text: why it is not checked */
  check(at: Place, text: string, tenant?: string): Promise<Finding[] | string>
  /** Checks and writes a new text as `config apply` does. @param version that it is based on @throws StoreError */
  save(at: Place, text: string, version: string, by: By): Promise<Saved>
  /** Newest first; undefined: there is no history. @throws StoreError */
  history(at: Place): Promise<HistoryEntry[] | undefined>
  /** The text of a version, without secrets; empty for one that does not exist. */
  older(at: Place, version: string): Promise<string>
  /** Writes an older version as the newest, after the same checks. @throws StoreError */
  rollBack(at: Place, to: string, by: By): Promise<Saved>
  /** Why nothing can be changed; undefined: something can. */
  readonly readOnly: string | undefined
}

/** The author of a change. */
export interface By {
  author: string
  tenant: string | undefined
}

/** The outcome of a change: its version, or why nothing was written. */
export type Saved = { version: string; warnings: string[] } | { refused: string; findings: Finding[] }

/** Where texts are kept. */
interface Keeper extends Pick<ConfigurationTexts, 'history'> {
  /** With all secrets. */
  read(at: Place): Promise<KeptText | undefined>
  /** @param found findings of the text */
  save(at: Place, text: string, version: string, by: By, found: Finding[]): Promise<Saved>
  /** @returns the text with all secrets */
  older(at: Place, version: string): Promise<string | undefined>
  rollBack(at: Place, to: string, by: By): Promise<Saved>
}

export function createTexts(parts: TextsParts): ConfigurationTexts {
  const { paths, store, settings, live } = parts
  const inTurn = serial()
  const readOnly = readOnlyBecause(settings, store)
  const keeper = store ? inStore(store, parts) : inFiles(parts)

  function find({ place, name, tenant: named }: Wanted, tenant?: string): Place | undefined {
    const isMeant = (one: Prepared) =>
      isVisible(one, { tenant }) &&
      (place === undefined ? one.name === name && (named ?? one.tenant) === one.tenant : one.file === place)
    const served = [...live.table.prepared.values()].find(isMeant)
    if (served) return { place: served.file, identity: served, served }
    if (place === undefined) return undefined
    const prefix = `${store?.label}/`
    const identity = store && place.startsWith(prefix) ? identityOf(place.slice(prefix.length)) : undefined
    if (identity) return isVisible(identity, { tenant }) ? { place, identity } : undefined
    // The tenant of a file is unknown before it is read.
    return tenant === undefined && broken().includes(place) ? { place } : undefined
  }

  function broken(): string[] {
    const served = new Set([...live.table.prepared.values()].map(({ file }) => file))
    const others = new Set([...served, ...paths, store?.label])
    const files = live.findings.filter(({ severity }) => severity === 'error').map(({ file }) => file)
    return [...new Set(files)].filter((file) => !others.has(file))
  }

  let waiting = 0
  const check: ConfigurationTexts['check'] = async (at, text, tenant) => {
    if (waiting >= MAX_WAITING) return 'Too many texts wait to be checked: try again later'
    waiting++
    return inTurn(() => checkText(at, text, tenant, parts)).finally(() => waiting--)
  }

  return {
    readOnly,
    broken,
    find,
    check,
    async read(at) {
      const found = await keeper.read(at)
      if (!found) return undefined
      const { text, version } = found
      const shown = withoutSecrets(at, text)
      const why = readOnly ?? found.readOnly ?? (shown === text ? unfit(text) : HAS_SECRETS)
      return { text: shown, version, ...(why !== undefined && { readOnly: why }) }
    },
    async save(at, text, version, by) {
      const why = readOnly ?? (await this.read(at))?.readOnly
      if (why !== undefined) return { refused: why, findings: [] }
      const found = await check(at, text, by.tenant)
      return typeof found === 'string'
        ? { refused: found, findings: [] }
        : keeper.save(at, text, version, by, found)
    },
    history: keeper.history,
    older: async (at, version) => withoutSecrets(at, (await keeper.older(at, version)) ?? ''),
    rollBack: async (at, to, by) =>
      readOnly ? { refused: readOnly, findings: [] } : keeper.rollBack(at, to, by),
  }
}

function withoutSecrets({ place: file }: Place, text: string): string {
  return maskSecrets(text, secretsIn({ file, text }))
}

async function checkText(
  { place, identity }: Place,
  text: string,
  tenant: string | undefined,
  { store, settings, live: { env, table } }: TextsParts,
): Promise<Finding[] | string> {
  if (text.length > MAX_TEXT) return `It has more than ${MAX_TEXT} characters`
  // Before it is read with the variables of its tenant.
  if (tenant !== undefined && writtenTenant({ file: place, text }) !== tenant)
    return `It must say \`tenant: ${tenant}\``
  const reading = readingOf(place, text, { env, settings })
  const own = reading.configurations[0]?.configuration ?? identity
  if (store && identity && own && qualifiedName(own) !== qualifiedName(identity))
    return 'Name and tenant of a stored configuration cannot be changed: use `plantgw config apply`'
  const others = [...table.prepared.values()].filter(({ file }) => file !== place)
  const { findings } = await checkReading(reading, { env, settings }, others)
  return findings.filter(({ file }) => file === place)
}

/** A text, read as a file. */
function readingOf(place: string, text: string, options: Parameters<typeof readStored>[1]) {
  const read = readStored({ place, text }, options)
  return { configurations: [read], findings: read.findings, sources: new Map([[place, text]]) }
}

function inStore(store: ConfigurationStore, { settings, live }: TextsParts): Keeper {
  const changeOf = ({ author, tenant }: By) => ({
    store,
    settings,
    env: live.env,
    tenant,
    reason: { author },
  })

  async function saved(outcome: ChangeOutcome): Promise<Saved> {
    if (outcome.kind === 'refused') return { refused: outcome.reason, findings: [] }
    const { findings } = outcome
    if (outcome.kind === 'findings') return { refused: HAS_ERRORS, findings }
    if (outcome.kind === 'conflict') return { refused: outcome.reasons.join('; '), findings }
    const told = await notifyGateways(outcome.changed, settings)
    return {
      version: outcome.applied[0]?.version ?? '',
      warnings: told.flatMap(({ ok, message }) => (ok ? [] : [message])),
    }
  }

  return {
    read: async ({ identity }) => identity && store.get(identity),
    async save({ place }, text, version, by) {
      const reading = readingOf(place, text, { env: live.env, settings })
      return saved(await applyTo({ ...changeOf(by), expect: version }, reading))
    },
    history: async ({ identity }) => identity && store.history(identity),
    older: async ({ identity }, version) => identity && (await store.get(identity, version))?.text,
    async rollBack({ identity, place }, to, by) {
      if (!identity) return { refused: `${place} has no versions`, findings: [] }
      return saved(await rollBack(changeOf(by), identity, to))
    },
  }
}

function inFiles({ paths }: TextsParts): Keeper {
  const folderOf = (place: string) => paths.find((path) => place.startsWith(`${withoutEndSlashes(path)}/`))

  async function read({ place, served }: Place): Promise<KeptText | undefined> {
    const folder = folderOf(place)
    const isOutside = folder !== undefined && leadsOutside(place, folder)
    const found = isOutside || place === '-' ? undefined : await readSource(place, [])
    if (found) return { text: found.text, version: versionOf(found.text) }
    const readOnly = isOutside ? 'It is a link that leads out of the folder.' : 'It cannot be read now.'
    return served && { text: served.text, version: versionOf(served.text), readOnly }
  }

  return {
    read,
    async save(at, text, version, _, findings) {
      if (hasErrors(findings)) return { refused: HAS_ERRORS, findings }
      const { place } = at
      const now = await read(at)
      if (!now || now.readOnly) return { refused: now?.readOnly ?? 'It cannot be read now.', findings: [] }
      const written = await replaceText(folderOf(place) ?? dirname(place), place, text, version)
      return written === undefined
        ? { refused: `${place} was changed in the meantime: nothing was written`, findings: [] }
        : { version: written, warnings: [] }
    },
    history: async () => undefined,
    older: async () => undefined,
    rollBack: async () => ({ refused: NO_HISTORY, findings: [] }),
  }
}

const HAS_ERRORS = 'Nothing was written, as it has errors'
export const NO_HISTORY = 'Files have no versions here: keep their folder in version control.'
const HAS_SECRETS = 'It holds secrets, which are not shown: take them from the environment.'

/** Why no text can be edited. A store can be edited by those who have logged in. */
function readOnlyBecause(
  { console, admin }: Settings,
  store: ConfigurationStore | undefined,
): string | undefined {
  const mayEdit = console?.edit ?? (store !== undefined && admin?.token !== undefined)
  return mayEdit ? undefined : 'The settings do not allow it: `console: {edit: true}` does.'
}

/** Why a text cannot be edited in a browser. */
function unfit(text: string): string | undefined {
  if (text.length > MAX_TEXT) return 'It is too large.'
  const returns = text.split('\r').length
  const isMixed =
    returns > 1 && (returns !== text.split('\r\n').length || returns !== text.split('\n').length)
  return isMixed ? 'Its lines end in different ways, which an editor would change.' : undefined
}
