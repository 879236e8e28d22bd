import { parseVerbatim, stringify } from '../../json/index.ts'
import type { RecordedCall } from '../../mcp/index.ts'
import { ITEM_KINDS } from './items.ts'
import { Ago, at, Choice, Page, Pane, Table } from './layout.tsx'
import { msText } from './overview.tsx'

const OUTCOMES = ['ok', 'tool_error', 'timeout', 'cancelled', 'refused', 'failed']

interface CallsProps {
  calls: readonly RecordedCall[]
  /** Text that each shown call contains. */
  query: string
  outcome: string
}

/** The last calls, the newest first; new ones appear by themselves. */
export function CallsPage({ calls, query, outcome }: CallsProps) {
  const shown = calls.filter((call) => isMeant(call, query, outcome))
  return (
    <Page title="Calls" page="calls" live>
      <form method="get" action={at('calls')} class="filter">
        <label>
          Contains <input type="search" name="q" value={query} />
        </label>
        <Choice label="Outcome" name="outcome" options={OUTCOMES} chosen={outcome} any="any" />
        <button type="submit">Filter</button>
      </form>
      <p>
        {shown.length} of the last {calls.length} calls. <code>plantgw tail</code> shows them in a terminal.
      </p>
      <Table
        label="Calls"
        heads={['When', 'Prefix', 'Name', 'Caller', 'Outcome', 'Time', 'Sent to', 'Saved', 'Trace']}
        rows={shown}
        cells={(call) => [
          <a href={at('calls', { id: call.id })}>
            <Ago at={call.at} />
          </a>,
          <code>{call.prefix || '/'}</code>,
          <code>{call.name}</code>,
          call.caller,
          <Outcome call={call} />,
          msText(call.ms),
          call.sentTo && <code>{call.sentTo}</code>,
          call.savedTokens > 0 && `${call.savedTokens} tokens`,
          call.traceId && <code>{call.traceId}</code>,
        ]}
      />
    </Page>
  )
}

function Outcome({ call: { outcome, failure } }: { call: RecordedCall }) {
  return (
    <span class={outcome === 'ok' ? 'good' : 'bad'}>
      {outcome}
      {failure && `: ${failure}`}
    </span>
  )
}

function isMeant(call: RecordedCall, query: string, outcome: string): boolean {
  if (outcome && call.outcome !== outcome) return false
  const text = [call.prefix, call.name, call.caller, call.failure, call.sentTo, call.traceId].join(' ')
  return text.toLowerCase().includes(query.toLowerCase())
}

/** JSON text with a line for each member; another text, or one that was cut off, as it is. */
function inLines(text: string): string {
  try {
    return stringify(parseVerbatim(text), 2)
  } catch {
    return text
  }
}

/** One call, with what was sent and received where contents are recorded. */
export function CallPage({ call }: { call: RecordedCall }) {
  const { name, prefix, caller, revision, method, contents } = call
  return (
    <Page title={`Call ${call.id}`} page="calls">
      <p>
        <code>{method}</code> of <code>{name}</code> at <code>{prefix || '/'}</code>, <Ago at={call.at} />, by{' '}
        {caller ?? 'an unknown caller'}, revision {revision}: <Outcome call={call} /> after {msText(call.ms)}.
      </p>
      <p>
        <a
          href={at('tools', {
            prefix: prefix || '/',
            [ITEM_KINDS.find((kind) => kind.method === method)!.name]: name,
            ...(contents && { call: call.id }),
          })}
        >
          Open in the form
        </a>
      </p>
      {contents ? (
        <div class="panes">
          <Pane title="Parameters" text={inLines(contents.params)} />
          {contents.exchanges.map(({ to, sent, received, status, ms }) => (
            <>
              <Pane title={`Sent to ${to}`} text={sent} />
              <Pane title={`${status ?? 'Answer'}, ${msText(ms)}`} text={received ?? 'no answer'} />
            </>
          ))}
          <Pane title="Result" text={inLines(contents.answer ?? 'cancelled')} />
        </div>
      ) : (
        <p class="none">
          Arguments and answers are not recorded; <code>console: {'{contents: true}'}</code> in the settings
          records them.
        </p>
      )}
    </Page>
  )
}
