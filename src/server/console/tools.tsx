import type { Match } from '../../discovery/index.ts'
import { type JsonObject, stringify } from '../../json/index.ts'
import { shorten, tokensIn } from '../../text/index.ts'
import { argumentsSchema, ITEM_KINDS, type ItemKind } from './items.ts'
import { at, Choice, Page, Pane, Table } from './layout.tsx'

/** A prefix, as the choice of prefixes shows it. */
export interface PrefixChoice {
  prefix: string
  /** Whether callers need credentials. */
  needsLogin: boolean
}

/** A tool that a search found. */
export interface FoundTool {
  tool: JsonObject
  score: number
  words: readonly Match[]
}

/** Characters that are shown of a description in a list and on its page, and of a definition. */
const MAX_DESCRIPTION = 1_000
const MAX_TEXT = 10_000
const MAX_DEFINITION = 100_000

interface ItemsProps {
  prefixes: readonly PrefixChoice[]
  prefix: PrefixChoice | undefined
  kind: ItemKind
  /** Definitions as clients get them; a text says why there are none. */
  items: readonly JsonObject[] | string
  /** Words of a search, and the tools that it found; undefined: all are shown. */
  query: string
  found: readonly FoundTool[] | undefined
}

/** The tools, prompts, resources or templates of one prefix. */
export function ItemsPage({ prefixes, prefix, kind, items, query, found }: ItemsProps) {
  return (
    <Page title={kind.title} page="tools">
      <form method="get" action={at('tools')} class="filter">
        <Choice
          label="Prefix"
          name="prefix"
          options={prefixes.map((one) => one.prefix)}
          chosen={prefix?.prefix}
        />
        <Choice label="Kind" name="kind" options={ITEM_KINDS.map(({ name }) => name)} chosen={kind.name} />
        <label>
          Search of tools <input type="search" name="q" value={query} placeholder="as a model would" />
        </label>
        <button type="submit">Show</button>
      </form>
      {!prefix ? (
        <p class="none">No prefix is served.</p>
      ) : typeof items === 'string' ? (
        <p class="bad">{items}</p>
      ) : (
        <>
          <p>
            {items.length} {kind.title.toLowerCase()}, about{' '}
            {tokensIn(stringify(items as JsonObject[]).length)} tokens in a list.
          </p>
          {found ? (
            <Found found={found} prefix={prefix.prefix} />
          ) : (
            <All items={items} prefix={prefix.prefix} kind={kind} />
          )}
        </>
      )}
    </Page>
  )
}

interface LinkProps {
  prefix: string
  kind: ItemKind
  item: JsonObject
}

function ItemLink({ prefix, kind, item }: LinkProps) {
  const name = String(item[kind.key])
  return (
    <a href={at('tools', { prefix, [kind.name]: name })}>
      <code>{shorten(name, 200)}</code>
    </a>
  )
}

function All({ items, prefix, kind }: Omit<LinkProps, 'item'> & { items: readonly JsonObject[] }) {
  return (
    <Table
      label={kind.title}
      heads={[kind.title, 'Description', 'Tokens']}
      rows={items}
      cells={(item) => [
        <ItemLink prefix={prefix} kind={kind} item={item} />,
        shorten(String(item.description ?? item.title ?? item.name ?? ''), MAX_DESCRIPTION),
        tokensIn(stringify(item).length),
      ]}
    />
  )
}

/** The tools that a search found, each with the words that match it. */
function Found({ found, prefix }: { found: readonly FoundTool[]; prefix: string }) {
  return (
    <Table
      label="Found tools"
      heads={['Rank', 'Tool', 'Score', 'Matched words']}
      rows={found.map((one, i) => ({ ...one, rank: i + 1 }))}
      cells={({ rank, tool, score, words }) => [
        rank,
        <ItemLink prefix={prefix} kind={ITEM_KINDS[0]!} item={tool} />,
        score.toFixed(2),
        words
          .map(
            ({ word, matched, fields }) =>
              `${word === matched ? word : `${word} → ${matched}`} (${fields.join(', ')})`,
          )
          .join(', '),
      ]}
    />
  )
}

interface ItemProps {
  prefix: PrefixChoice
  kind: ItemKind
  item: JsonObject
  /** Initial arguments. */
  given: string
  /** Whether its request can be shown without sending it. */
  canRender: boolean
  /** Whether the console may call it. */
  mayCall: boolean
}

/** A tool, prompt, resource or template: its definition, a form, and what becomes of a call. */
export function ItemPage({ prefix, kind, item, given, canRender, mayCall }: ItemProps) {
  const name = String(item[kind.key])
  const forms = kind.name === 'tool' ? ['plantgw call', ...(canRender ? ['plantgw render'] : [])] : []
  return (
    <Page title={shorten(name, 200)} page="tools">
      <p>
        <a href={at('tools', { prefix: prefix.prefix, kind: kind.name })}>
          {kind.title} of <code>{prefix.prefix}</code>
        </a>
        , about {tokensIn(stringify(item).length)} tokens in a list.
      </p>
      <p class="description">{shorten(String(item.description ?? 'No description.'), MAX_TEXT)}</p>
      <details>
        <summary>Definition</summary>
        <pre tabindex={0}>{shorten(stringify(item, 2), MAX_DEFINITION)}</pre>
      </details>
      <div
        id="item"
        data-prefix={prefix.prefix}
        data-kind={kind.name}
        data-method={kind.method}
        data-name={name}
        data-schema={stringify(argumentsSchema(kind, item))}
      >
        <div class="panes">
          <Arguments prefix={prefix} given={given} canRender={canRender} mayCall={mayCall} />
          <Pane title="Request" id="sent" />
          <Pane title="Answer of the server" id="received" />
          <Pane title="Result for the model" id="shown" />
        </div>
        <h2>Copy as</h2>
        <p>
          {['curl', ...forms, 'MCP JSON'].map((form) => (
            <>
              <button type="button" class="copy" data-form={form}>
                {form}
              </button>{' '}
            </>
          ))}
        </p>
        <pre id="copied" tabindex={0}></pre>
      </div>
      <noscript>
        <p class="none">Without JavaScript the console shows definitions only; use `plantgw call`.</p>
      </noscript>
    </Page>
  )
}

function Arguments({ prefix, given, canRender, mayCall }: Omit<ItemProps, 'item' | 'kind'>) {
  return (
    <section aria-labelledby="arguments">
      <h2 id="arguments">Arguments</h2>
      <div id="fields"></div>
      <label>
        As JSON
        <textarea id="json" rows={8} spellcheck={false}>
          {given}
        </textarea>
      </label>
      {prefix.needsLogin && (
        <label>
          Header <code>Authorization</code> of the call
          <input id="authorization" type="password" autocomplete="off" placeholder="Bearer …" />
        </label>
      )}
      <p>
        {canRender && (
          <button type="button" id="render">
            Render only
          </button>
        )}{' '}
        {mayCall && (
          <button type="button" id="call">
            Call
          </button>
        )}{' '}
        <button type="button" id="cancel" disabled>
          Cancel
        </button>
      </p>
      {!mayCall && (
        <p class="none">
          Calls from the console are off; <code>console: {'{calls: true}'}</code> in the settings allows them.
        </p>
      )}
      <p id="state" role="status"></p>
      <progress id="progress" aria-label="Progress of the call" hidden></progress>
      <div id="questions"></div>
    </section>
  )
}
