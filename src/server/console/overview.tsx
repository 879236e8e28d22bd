import { loginName } from '../../credentials/oauth/flow.ts'
import type { Finding } from '../../findings/index.ts'
import { counted, tokensIn } from '../../text/index.ts'
import type { Status } from '../status.ts'
import type { PrefixCalls } from './call-counts.ts'
import { Ago, at, Page, Table } from './layout.tsx'

interface OverviewProps {
  status: Status
  /** Why the gateway is not ready; undefined: it is. */
  unready: string | undefined
  /** Findings of the last reading of the configurations, errors first. */
  findings: readonly Finding[]
  /** Addresses of other replicas. */
  replicas: readonly string[]
  callsOf: (prefix: string) => PrefixCalls
  /** Characters of the list of tools of a prefix; undefined: unknown. */
  listOf: (prefix: string) => number | undefined
  /** Whether the browser can log out. */
  hasLogin: boolean
}

/** The first page: prefixes, their traffic, and problems that need attention. */
export function OverviewPage(props: OverviewProps) {
  const { status, unready, hasLogin, findings, replicas } = props
  const { version, generation, swappedAt, startedAt, sessions, workers } = status
  return (
    <Page title="Overview" page="" live>
      <p>
        Version {version},{' '}
        {unready === undefined ? (
          <span class="good">ready</span>
        ) : (
          <span class="bad">not ready: {unready}</span>
        )}
        , {sessions} sessions. Generation {generation} was loaded <Ago at={swappedAt} />, the process started{' '}
        <Ago at={startedAt} />.
      </p>
      <Attention status={status} findings={findings} />
      <Prefixes {...props} />
      {workers && (
        <>
          <h2>Workers</h2>
          <Table
            label="Workers"
            heads={['Worker', 'Process', 'Started', 'Connections', 'Sessions']}
            rows={workers}
            cells={({ worker, pid, startedAt, connections, sessions }) => [
              worker,
              pid,
              <Ago at={startedAt} />,
              connections,
              sessions,
            ]}
          />
        </>
      )}
      {replicas.length > 0 && (
        <p>
          Other replicas that this one knows: <code>{replicas.join(', ')}</code>.
        </p>
      )}
      <h2>Last reloads</h2>
      <Table
        label="Last reloads"
        heads={['When', 'By', 'Generation', 'Changes', 'Refused']}
        rows={status.reloads}
        cells={({ at: when, triggers, generation, added, changed, removed, refused, findings }) => [
          <Ago at={when} />,
          triggers.join(', '),
          generation,
          changesText({ added, changed, removed }),
          refused.length ? <Refused refused={refused} findings={findings} /> : 'none',
        ]}
      />
      {hasLogin && (
        <form method="post" action={at('logout')}>
          <button type="submit">Log out</button>
        </form>
      )}
    </Page>
  )
}

/** The configurations that a reload refused, with the places of their errors. */
function Refused({ refused, findings }: Pick<Status['reloads'][number], 'refused' | 'findings'>) {
  const errors = findings.filter(({ severity }) => severity === 'error')
  return (
    <>
      <span class="bad">{refused.join(', ')}</span>
      <ul>
        {errors.slice(0, MAX_ERRORS).map(({ file, line, message }) => (
          <li>
            <code>{placeText(file, line)}</code> {message}
          </li>
        ))}
      </ul>
    </>
  )
}

/** Maximum errors that are shown of a reload. */
const MAX_ERRORS = 5
/** Minutes of a sparkline. */
const MINUTES = 60

function placeText(...parts: (string | number | undefined)[]): string {
  return parts.filter((part) => part !== undefined).join(':')
}

function Prefixes({ status, callsOf, listOf }: OverviewProps) {
  return (
    <>
      <h2>Prefixes</h2>
      <Table
        label="Prefixes"
        heads={[
          'Prefix',
          'Behind it',
          'Access',
          'Sessions',
          'Revisions',
          'List',
          'Calls a minute',
          'Last hour',
          'p50 / p95',
          'Failed',
        ]}
        rows={status.prefixes}
        cells={(one) => {
          const recorded = callsOf(one.prefix)
          const characters = listOf(one.prefix)
          return [
            <a href={at('tools', { prefix: one.prefix })}>
              <code>{one.prefix}</code>
            </a>,
            one.upstream ? (
              <span class={one.upstream.faults ? 'bad' : undefined}>
                {one.upstream.servers.join(', ')}: {one.upstream.state}
              </span>
            ) : (
              counted(one.tools?.length ?? 0, 'HTTP tool')
            ),
            one.access,
            one.sessions,
            [...new Set([...one.revisions, ...recorded.revisions])].sort().join(', '),
            characters !== undefined && `${tokensIn(characters)} tokens`,
            rateText(recorded.calls / MINUTES),
            <Sparkline values={recorded.minutes} />,
            recorded.p50 !== undefined && `${msText(recorded.p50)} / ${msText(recorded.p95 as number)}`,
            recorded.errors ? <span class="bad">{recorded.errors}</span> : 0,
          ]
        }}
      />
    </>
  )
}

/** Maximum findings of the page. */
const MAX_FINDINGS = 200

/** Refused configurations with their findings, and servers that fail. */
function Attention({ status, findings }: Pick<OverviewProps, 'status' | 'findings'>) {
  const refused = status.configurations.filter((one) => one.refused)
  const logins = (status.logins ?? []).filter(({ state }) => state !== 'present')
  const failing = status.prefixes.flatMap(({ prefix, upstream }) =>
    (upstream?.faults ?? []).map((fault) => ({ prefix, fault })),
  )
  if (!refused.length && !findings.length && !failing.length && !logins.length)
    return <p class="good">Nothing needs attention.</p>
  return (
    <section aria-label="Needs attention">
      <h2>Needs attention</h2>
      <ul>
        {refused.map(({ name, place }) => (
          <li class="bad">
            The newest version of <a href={at('configurations', { name })}>{name}</a> (<code>{place}</code>)
            was refused; the last good one is served.
          </li>
        ))}
        {findings.slice(0, MAX_FINDINGS).map(({ severity, file, range, message, hint }) => (
          <li class={severity === 'error' ? 'bad' : undefined}>
            <a href={at('configurations', { place: file })}>
              <code>{placeText(file, range?.start.line, range?.start.column)}</code>
            </a>{' '}
            {severity}: {message}
            {hint && `. ${hint}`}
          </li>
        ))}
        {findings.length > MAX_FINDINGS && (
          <li>
            And {findings.length - MAX_FINDINGS} more, which <code>plantgw validate</code> prints.
          </li>
        )}
        {logins.map(({ server: name, configuration, tenant, state }) => (
          <li class="bad">
            The login of the server {name} is {state}:{' '}
            <code>plantgw login {loginName({ name, configuration, tenant })}</code>
          </li>
        ))}
        {failing.map(({ prefix, fault }) => (
          <li class="bad">
            <code>{prefix}</code>: {fault}
          </li>
        ))}
      </ul>
    </section>
  )
}

/** Counts as bars, the highest as high as the picture. */
function Sparkline({ values }: { values: readonly number[] }) {
  const most = Math.max(...values, 1)
  const total = values.reduce((sum, value) => sum + value, 0)
  return (
    <svg
      class="sparkline"
      viewBox={`0 0 ${values.length} 20`}
      preserveAspectRatio="none"
      role="img"
      aria-label={`${total} calls in ${values.length} minutes`}
    >
      <path d={values.map((value, i) => `M${i},20h.8v${(-20 * value) / most}h-.8`).join('')} />
    </svg>
  )
}

function rateText(calls: number): string {
  return calls === 0 || calls >= 10 ? String(Math.round(calls)) : calls.toFixed(calls < 0.1 ? 2 : 1)
}

export function msText(ms: number): string {
  return ms < 10 ? `${ms.toFixed(1)} ms` : `${Math.round(ms)} ms`
}

function changesText(changes: Record<string, readonly string[]>): string {
  const parts = Object.entries(changes).flatMap(([word, names]) =>
    names.length ? [`${word}: ${names.join(', ')}`] : [],
  )
  return parts.join('; ') || 'none'
}
