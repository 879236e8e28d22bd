import { createHash } from 'node:crypto'
import { mkdir, stat } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { readConfigurations } from '../checks/index.ts'
import {
  DEFAULT_TENANT,
  type Env,
  filesOf,
  type Identity,
  LINT_CONFIG_FILE,
  qualifiedName,
  readSource,
  type TenantSettings,
} from '../config/index.ts'
import type { Finding } from '../findings/index.ts'
import { exists } from './file.ts'
import { changeFiles, type FileChange, inFolder, isUnsettled, settle } from './journal.ts'
import { serial } from './lock.ts'
import {
  byName,
  type Change,
  type ConfigurationStore,
  checkChanges,
  conflictsOf,
  type Outcome,
  type Snapshot,
  type StoredConfiguration,
  type StoredSummary,
} from './store.ts'
import { StoreError, writeError } from './store-error.ts'

type Tenants = readonly TenantSettings[]

/**
 * Configurations as the YAML files of a folder and its subfolders. Versions are hashes of the texts. The folder keeps
 * no history: that is the task of version control.
 * @param folder should be absolute; the first change creates it
 * @param env environment variables, which names of configurations may refer to
 */
export function directoryStore(folder: string, env: Env, tenants?: Tenants): ConfigurationStore {
  let closed = false
  const inTurn = serial()

  function refuseClosed() {
    if (closed) throw new StoreError('closed', `the store ${folder} is closed`)
  }

  async function readAll(): Promise<Snapshot> {
    refuseClosed()
    for (let attempt = 0; attempt < 5; attempt++) {
      await settle(folder)
      const revision = await revisionOf(folder)
      const read = await readFolder(folder, env, tenants)
      // During a change, the journal exists or the revision differs; no reader may see a half-made change.
      if (!(await isUnsettled(folder)) && (await revisionOf(folder)) === revision)
        return { revision, ...read }
    }
    // Others write constantly: only the lock gives a moment between two changes.
    return inFolder(folder, async () => ({
      revision: await revisionOf(folder),
      ...(await readFolder(folder, env, tenants)),
    }))
  }

  async function change(changes: readonly Change[], revision?: string): Promise<Outcome> {
    refuseClosed()
    await mkdir(folder, { recursive: true }).catch((error) => {
      throw writeError(folder, error)
    })
    return inFolder(folder, async () => {
      if (revision !== undefined && (await revisionOf(folder)) !== revision) return { kind: 'moved' }
      const { configurations, findings } = await readFolder(folder, env, tenants)
      const unread = findings.find(({ code }) => code === 'unreadable-file')
      const there = new Map(configurations.map((one) => [qualifiedName(one), one.version]))
      const conflicts = conflictsOf(changes, (identity) => there.get(qualifiedName(identity)))
      // An unreadable file must not count as deleted.
      if (conflicts.length > 0 && unread) throw readError(unread)
      if (conflicts.length > 0) return { kind: 'conflict', conflicts }
      const files: FileChange[] = []
      for (const change of changes) files.push(await fileChange(folder, change, configurations, unread))
      await changeFiles(folder, files)
      const updatedAt = new Date().toISOString()
      return { kind: 'applied', versions: changes.map((change) => summaryOf(change, updatedAt)) }
    })
  }

  return {
    label: `directory:${folder}`,
    list: async () => (await readAll()).configurations.map(({ text: _, place: __, ...summary }) => summary),
    async get(identity, version) {
      const id = qualifiedName(identity)
      const found = (await readAll()).configurations.find((one) => qualifiedName(one) === id)
      return version === undefined || version === found?.version ? found : undefined
    },
    readAll,
    async apply(changes, reason, revision) {
      checkChanges(changes, reason)
      return inTurn(() => change(changes, revision))
    },
    async history() {
      throw new StoreError(
        'unsupported',
        `the folder ${folder} keeps no history: keep it in version control, ` +
          'or choose another `storage.type`',
      )
    },
    async revision() {
      refuseClosed()
      return revisionOf(folder)
    },
    async close() {
      await inTurn(async () => {
        closed = true
      })
    },
  }
}

/**
 * Replaces the text of one file, with the lock and the checks of the folder's store.
 * @param place path of the file, in or below the folder
 * @param version that the change is based on
 * @returns the new version; undefined if nothing was written, because the file has another version
 * @throws StoreError
 */
export async function replaceText(
  folder: string,
  place: string,
  text: string,
  version: string,
): Promise<string | undefined> {
  return inFolder(folder, async () => {
    const findings: Finding[] = []
    const now = await readSource(place, findings)
    if (findings[0]) throw readError(findings[0])
    if (!now || versionOf(now.text) !== version) return undefined
    await changeFiles(folder, [{ file: relative(folder, place), text }])
    return versionOf(text)
  })
}

/** Version of a text in a folder: its hash. */
export function versionOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 12)
}

/** Hash of the names, inodes, times and sizes of all files. Call `settle` first. */
async function revisionOf(folder: string): Promise<string> {
  const hash = createHash('sha256')
  for (const file of await filesOf(folder, [])) {
    const stats = await stat(file, { bigint: true }).catch(() => undefined)
    hash.update(`${file}\0${stats?.ino}\0${stats?.mtimeNs}\0${stats?.ctimeNs}\0${stats?.size}\0`)
  }
  return hash.digest('hex').slice(0, 24)
}

/** If several files define the same identity, the first counts. */
async function readFolder(
  folder: string,
  env: Env,
  tenants: Tenants | undefined,
): Promise<Omit<Snapshot, 'revision'>> {
  const { configurations, findings } = await readConfigurations([folder], env, tenants && { tenants })
  const found = new Map<string, StoredConfiguration>()
  for (const { configuration, isRepaired, file, text } of configurations) {
    if (!configuration || isRepaired(['name']) || isRepaired(['tenant'])) continue
    const { name, tenant } = configuration
    const id = qualifiedName(configuration)
    if (found.has(id)) continue
    const updatedAt = await stat(file).then(
      ({ mtime }) => mtime.toISOString(),
      () => '',
    )
    found.set(id, { name, tenant, version: versionOf(text), updatedAt, text, place: file })
  }
  return { configurations: [...found.values()].sort(byName), findings }
}

async function fileChange(
  folder: string,
  change: Change,
  configurations: readonly StoredConfiguration[],
  unread: Finding | undefined,
): Promise<FileChange> {
  const text = 'text' in change ? change.text : null
  const there = configurations.find((one) => one.name === change.name && one.tenant === change.tenant)
  if (there) return { file: relative(folder, there.place), text }
  const file = fileName(change)
  const path = join(folder, file)
  const taken = await exists(path)
  if (taken && unread) throw readError(unread)
  if (taken)
    throw new StoreError('failed', `${path} exists with another configuration: rename or remove it first`)
  return { file, text }
}

function readError({ file, message }: Finding): StoreError {
  return new StoreError('failed', `cannot read ${file}: ${message}`)
}

/**
 * `name.yaml`, or `name@tenant.yaml` with a tenant. Characters unfit for file names are percent-encoded; a long name is
 * cut, and ends with a hash.
 */
function fileName({ name, tenant }: Identity): string {
  const parts = tenant === DEFAULT_TENANT ? [name] : [name, tenant]
  const safe = parts
    .map((part) => encodeURIComponent(part).replace(/[!'()*~]|^\./g, percentEncoded))
    .join('@')
  // 200 bytes leave room for the hash and the ending, as file systems allow 255.
  const short = safe.length > 200 ? `${safe.slice(0, 200)}-${versionOf(safe)}` : safe
  // A file with the name of the lint file would not be read as a configuration.
  return `${short}.yaml` === LINT_CONFIG_FILE ? `%${short}.yaml` : `${short}.yaml`
}

function percentEncoded(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`
}

function summaryOf(change: Change, updatedAt: string): StoredSummary {
  const { name, tenant } = change
  return { name, tenant, version: 'text' in change ? versionOf(change.text) : change.version, updatedAt }
}
