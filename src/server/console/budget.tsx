import { numberText } from '../../text/index.ts'
import { at, More, Page, Table } from './layout.tsx'

/** The tokens that a prefix costs a model, estimated. */
export interface PrefixBudget {
  prefix: string
  /** Tokens of the whole list of tools; a text says why they are unknown. */
  whole: number | string
  /** Tokens of the list that clients get; undefined: unknown. */
  listed: number | undefined
  /** Tokens of the answers of the last hour, and those that shaping saved. */
  answered: number
  saved: number
}

/** The page about the tokens that each prefix costs models, and that the gateway saves. @param left prefixes that are not shown */
export function BudgetPage({ budgets, left }: { budgets: readonly PrefixBudget[]; left: number }) {
  const most = (values: readonly number[]) => Math.max(1, ...values)
  const mostListed = most(budgets.flatMap(({ whole }) => (typeof whole === 'number' ? whole : [])))
  const mostAnswered = most(budgets.map(({ answered, saved }) => answered + saved))
  return (
    <Page title="Budget" page="budget">
      <p>
        Tokens of models, estimated as a quarter of the characters. Each client reads the list of tools before
        its first call.
      </p>
      <Table
        label="Budget"
        heads={['Prefix', 'List of tools', 'Answers in the last hour']}
        rows={budgets}
        cells={({ prefix, whole, listed, answered, saved }) => [
          <a href={at('tools', { prefix })}>
            <code>{prefix}</code>
          </a>,
          typeof whole === 'string' ? (
            whole
          ) : (
            <Bar
              used={listed ?? whole}
              saved={Math.max(0, whole - (listed ?? whole))}
              most={mostListed}
              by="discovery"
            />
          ),
          <Bar used={answered} saved={saved} most={mostAnswered} by="shaping" />,
        ]}
      />
      <More count={left} />
    </Page>
  )
}

interface BarProps {
  used: number
  saved: number
  /** Tokens of a whole bar. */
  most: number
  /** The settings that save tokens. */
  by: string
}

function Bar({ used, saved, most, by }: BarProps) {
  const percent = (tokens: number) => `${((100 * tokens) / most).toFixed(1)}%`
  return (
    <>
      <svg class="bar" aria-hidden="true">
        <rect class="used" width={percent(used)} height="100%" />
        <rect class="saved" x={percent(used)} width={percent(saved)} height="100%" />
      </svg>
      {numberText(used)} tokens
      {saved > 0 && <span class="good">{`, ${numberText(saved)} saved by ${by}`}</span>}
    </>
  )
}
