import { readFileSync } from 'node:fs'
import { type Json, type JsonObject, stringify } from '../../json/index.ts'
import { counted, printable, shorten } from '../../text/index.ts'
import type { DeclaredList, ServerChildren } from '../../upstream/index.ts'
import type { PrefixStatus, Status } from '../status.ts'
import { agoText, at, Page, Table } from './layout.tsx'

/** The MCP servers behind prefixes. */
export function ServersPage({ status }: { status: Status }) {
  return (
    <Page title="MCP servers" page="servers" live>
      <Table
        label="MCP servers"
        heads={['Prefix', 'Servers', 'State', 'Sessions', 'Connections', 'Processes', 'Problems']}
        rows={status.prefixes.filter(({ upstream }) => upstream)}
        cells={({ prefix, upstream }) => {
          const { servers, state, sessions, connections, pids } = upstream!
          return [
            <a href={at('servers', { prefix })}>
              <code>{prefix}</code>
            </a>,
            servers.join(', '),
            <span class={state === 'failing' ? 'bad' : 'good'}>{state}</span>,
            sessions,
            connections,
            pids.map(memoryText).join(', '),
            <Problems upstream={upstream!} />,
          ]
        }}
      />
    </Page>
  )
}

function Problems({ upstream }: Pick<Required<PrefixStatus>, 'upstream'>) {
  const { faults = [], declarations = [] } = upstream
  if (!faults.length && !declarations.length) return <>none</>
  return (
    <ul>
      {[...faults, ...declarations].map((fault) => (
        <li class="bad">{fault}</li>
      ))}
    </ul>
  )
}

interface ServerProps {
  status: PrefixStatus
  servers: readonly ServerChildren[]
  lists: readonly DeclaredList[]
}

/** The MCP servers behind one prefix: their processes, and what they declare beside what clients see. */
export function ServerPage({ status: { prefix, upstream }, servers, lists }: ServerProps) {
  const { state, sessions, connections } = upstream!
  return (
    <Page title={`MCP servers of ${prefix}`} page="servers">
      <p>
        <span class={state === 'failing' ? 'bad' : 'good'}>{state}</span>, {sessions} sessions of clients,{' '}
        {connections} connections. <a href={at('tools', { prefix })}>Tools</a>,{' '}
        <a href={at('tools', { prefix, kind: 'prompt' })}>prompts</a>,{' '}
        <a href={at('tools', { prefix, kind: 'resource' })}>resources</a> and{' '}
        <a href={at('tools', { prefix, kind: 'template' })}>resource templates</a>.
      </p>
      {upstream!.state === 'failing' && <Problems upstream={upstream!} />}
      {servers.map((one) => (
        <section aria-label={one.name}>
          <h2>{one.name}</h2>
          <Children server={one} />
          {lists
            .filter(({ server }) => server === one.name)
            .map((list) => (
              <Declared list={list} />
            ))}
        </section>
      ))}
    </Page>
  )
}

function Children({ server: { running, started, lost, stderr } }: { server: ServerChildren }) {
  if (!started) return null
  return (
    <>
      <p>
        {counted(started, 'process was', 'processes were')} started since the configuration was loaded;{' '}
        {lost ? <span class="bad">{lost} ended by themselves</span> : 'none ended by itself'}.
      </p>
      {running.length > 0 && (
        <Table
          label="Processes"
          heads={['Process', 'Memory', 'Started']}
          rows={running}
          cells={({ pid, ms }) => [pid, residentMiB(pid), agoText(ms)]}
        />
      )}
      <h3>Last lines of standard error</h3>
      {stderr.length ? (
        <pre tabindex={0}>
          {stderr
            .map(
              ({ pid, text, ms }) =>
                `${agoText(ms)}, ${pid ?? 'not started'}: ${shorten(printable(text), MAX_TEXT)}`,
            )
            .join('\n')}
        </pre>
      ) : (
        <p class="none">None.</p>
      )}
    </>
  )
}

/** Characters that are shown of a line or definition. */
const MAX_TEXT = 2_000

/** The items of a list that clients see differently, or that are not pinned like this. */
function Declared({ list: { kind, fault, items = [] } }: { list: DeclaredList }) {
  const changed = items.filter(
    ({ declared, shown, pin }) =>
      (pin && pin !== 'same') || !shown || stringify(declared) !== stringify(shown),
  )
  const title = kind === 'tools' ? 'Tools' : 'Prompts'
  return (
    <>
      <h3>{title}</h3>
      {fault ? (
        <p class="bad">{fault}</p>
      ) : (
        <p>
          {items.length} declared, {items.length - changed.length} of them shown to clients as they are.
        </p>
      )}
      {changed.length > 0 && (
        <Table
          label={`Changed ${kind}`}
          heads={['Name', 'Pin file', 'What the server declares, and clients see']}
          rows={changed}
          cells={({ declared, shown, pin }) => [
            <code>{shorten(String(declared.name), 200)}</code>,
            pin && <span class={pin === 'same' ? 'good' : 'bad'}>{PIN_TEXT[pin]}</span>,
            shown ? <Difference from={declared} to={shown} /> : 'hidden from clients',
          ]}
        />
      )}
    </>
  )
}

const PIN_TEXT = { same: 'as pinned', added: 'not pinned', changed: 'changed since it was pinned' }

/** The members in which two definitions differ. */
function Difference({ from, to }: { from: JsonObject; to: JsonObject }) {
  const keys = [...new Set([...Object.keys(from), ...Object.keys(to)])]
  const text = (value: Json | undefined) => (value === undefined ? undefined : stringify(value))
  return (
    <ul class="difference">
      {keys.map((key) => {
        const [was, is] = [text(from[key]), text(to[key])]
        if (was === is) return null
        return (
          <li>
            <code>{key}</code> {was !== undefined && <del>{shorten(was, MAX_TEXT)}</del>}{' '}
            {is !== undefined && <ins>{shorten(is, MAX_TEXT)}</ins>}
          </li>
        )
      })}
    </ul>
  )
}

function memoryText(pid: number): string {
  const memory = residentMiB(pid)
  return memory === undefined ? String(pid) : `${pid} (${memory})`
}

/** Resident memory of a process; undefined where the system does not tell. */
function residentMiB(pid: number): string | undefined {
  try {
    const kib = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
    return kib === undefined ? undefined : `${Math.round(Number(kib) / 1024)} MiB`
  } catch {
    return undefined
  }
}
