import type { Finding } from '../../findings/index.ts'
import type { HistoryEntry } from '../../store/index.ts'
import { groupBy, printable } from '../../text/index.ts'
import { NO_HISTORY, type Place } from '../configuration-texts.ts'
import type { ConfigurationStatus } from '../status.ts'
import { Ago, at as href, Page, Table } from './layout.tsx'

interface ConfigurationsProps {
  configurations: readonly ConfigurationStatus[]
  /** Places of configurations that have never been served. */
  broken: readonly string[]
  mayReload: boolean
}

/** The configurations, the broken ones first. */
export function ConfigurationsPage({ configurations, broken, mayReload }: ConfigurationsProps) {
  return (
    <Page title="Configurations" page="configurations" live>
      {mayReload && (
        <p>
          <button type="button" class="post" data-path="reload" data-body="{}">
            Reload
          </button>
        </p>
      )}
      <Outcome />
      {broken.length > 0 && (
        <>
          <h2>Not served, as they have errors</h2>
          <ul>
            {broken.slice(0, 100).map((place) => (
              <li>
                <a href={href('configurations', { place })} class="bad">
                  {printable(place)}
                </a>
              </li>
            ))}
          </ul>
        </>
      )}
      <Table
        label="Configurations"
        heads={['Name', 'Tenant', 'Version', 'Served since', 'Place', 'Newest version']}
        rows={[...configurations].sort((a, b) => Number(b.refused) - Number(a.refused))}
        cells={({ name, tenant, version, since, place, refused }) => [
          <a href={href('configurations', { name, tenant })}>{name}</a>,
          tenant,
          <code>{version}</code>,
          <Ago at={since} />,
          <code>{printable(place)}</code>,
          refused ? <span class="bad">refused</span> : <span class="good">served</span>,
        ]}
      />
    </Page>
  )
}

/** The place for the outcome of a change. */
function Outcome() {
  return (
    <div role="status">
      <p id="state"></p>
      <ul id="lines"></ul>
    </div>
  )
}

interface ConfigurationProps {
  at: Place
  /** The newest text. */
  text: string
  version: string
  /** Why it cannot be edited. */
  readOnly: string | undefined
  /** For the styles of the editor. */
  nonce: string | undefined
  findings: readonly Finding[]
  /** Why it has not been checked. */
  unchecked: string | undefined
  /** Undefined: it has never been served. */
  served: ConfigurationStatus | undefined
  /** Undefined: it is not kept. */
  history: readonly HistoryEntry[] | undefined
  mayRollBack: boolean
}

/** The newest text of a configuration with its findings, an editor, and its versions. */
export function ConfigurationPage(props: ConfigurationProps) {
  const { at, text, version, readOnly, nonce, findings, unchecked, served, history } = props
  const { place } = at
  return (
    <Page title={served?.name ?? printable(place)} page="configurations">
      <p>
        Version <code>{version}</code> of <code>{printable(place)}</code>.{' '}
        {served === undefined ? (
          <span class="bad">It is not served.</span>
        ) : served.refused ? (
          <span class="bad">
            It was refused; version <code>{served.version}</code> stays in service.
          </span>
        ) : (
          <>
            {served.version === version ? 'It' : `Version ${served.version}`} is served since{' '}
            <Ago at={served.since} />.
          </>
        )}
      </p>
      {unchecked !== undefined && <p class="none">{unchecked}.</p>}
      {nonce === undefined ? (
        <p class="none">Read-only. {readOnly}</p>
      ) : (
        <div id="edit" data-given={JSON.stringify({ place, version, text })} data-nonce={nonce} hidden>
          <p class="filter">
            <button type="button" id="save">
              Save
            </button>
            <span class="hint">or Ctrl-S. The text is checked while you write.</span>
          </p>
        </div>
      )}
      <Outcome />
      <Source text={text} findings={findings} />
      <h2>Versions</h2>
      {history === undefined ? <p class="none">{NO_HISTORY}</p> : <Versions {...props} history={history} />}
      {nonce !== undefined && <script src={href('editor.js')} type="module"></script>}
    </Page>
  )
}

/** Maximum lines of a page, and characters of a line. */
const MAX_LINES = 5_000
const MAX_LINE = 2_000

/** A text with its findings at their lines. */
function Source({ text, findings }: Pick<ConfigurationProps, 'text' | 'findings'>) {
  const lines = text.split('\n')
  const found = groupBy(findings, ({ range }) => Math.min(range?.start.line ?? 0, MAX_LINES))
  return (
    <div id="source">
      {found.get(0)?.map((one) => (
        <Found {...one} />
      ))}
      <ol class="source" aria-label="Source">
        {lines.slice(0, MAX_LINES).map((line, i) => (
          <li>
            <code>{printable(line.slice(0, MAX_LINE)) || ' '}</code>
            {found.get(i + 1)?.map((one) => (
              <Found {...one} />
            ))}
          </li>
        ))}
      </ol>
      {lines.length > MAX_LINES && <p class="none">And {lines.length - MAX_LINES} more lines.</p>}
    </div>
  )
}

function Found({ severity, message, hint }: Finding) {
  return (
    <p class={severity === 'error' ? 'found bad' : 'found'}>
      {severity}: {printable(message)}
      {hint && `. ${printable(hint)}`}
    </p>
  )
}

function Versions({
  at,
  history,
  version: newest,
  mayRollBack,
}: ConfigurationProps & { history: readonly HistoryEntry[] }) {
  const { place } = at
  return (
    <Table
      label="Versions"
      heads={['Version', 'Written', 'By', 'Why', 'Changes', '']}
      rows={history}
      cells={({ version, updatedAt, author = '', message = '', deleted }) => {
        const before = history[history.findIndex((one) => one.version === version) + 1]
        const difference = { place, ...(before && { from: before.version }), to: version }
        return [
          <code>{version}</code>,
          <Ago at={updatedAt} />,
          printable(author),
          deleted ? 'deleted' : printable(message),
          <a href={href('configurations', difference)}>Changes of {version}</a>,
          mayRollBack && !deleted && version !== newest && (
            <button
              type="button"
              class="post"
              data-path="rollback"
              data-body={JSON.stringify({ place, version })}
              data-ask={`Write version ${version} as the newest?`}
            >
              Go back to {version}
            </button>
          ),
        ]
      }}
    />
  )
}

interface DiffProps {
  at: Place
  /** In the unified format. */
  diff: string
  /** Undefined: nothing. */
  from: string | undefined
  to: string
}

/** The page about the changes from one version to another. */
export function DiffPage({ at, diff, from, to }: DiffProps) {
  const { place, identity } = at
  const lines = diff.split('\n')
  return (
    <Page title={`${identity?.name ?? place}: version ${to}`} page="configurations">
      <p>
        <a href={href('configurations', { place })}>All versions</a>. Compared with {from ?? 'nothing'}:
      </p>
      <pre tabindex={0}>
        {diff === ''
          ? 'No difference is shown.'
          : lines.slice(0, MAX_LINES).map((line) => <DiffLine line={line} />)}
      </pre>
    </Page>
  )
}

function DiffLine({ line }: { line: string }) {
  const text = `${printable(line.slice(0, MAX_LINE))}\n`
  if (line.startsWith('+')) return <ins>{text}</ins>
  return line.startsWith('-') ? <del>{text}</del> : <span>{text}</span>
}
