import type { Child } from 'hono/jsx'

/** The pages, by the last part of their path. */
const PAGES = [
  ['', 'Overview'],
  ['tools', 'Tools'],
  ['calls', 'Calls'],
  ['servers', 'MCP servers'],
  ['budget', 'Budget'],
  ['configurations', 'Configurations'],
  ['connect', 'Connect'],
] as const

/** Path of the console. */
export const CONSOLE = '/_console'

export function at(page: string, query: Record<string, string> = {}): string {
  const text = new URLSearchParams(query).toString()
  return `${CONSOLE}${page && `/${page}`}${text && `?${text}`}`
}

interface PageProps {
  title: string
  /** One of `PAGES`. */
  page: string
  /** Whether the browser shows changes without being asked. */
  live?: boolean
  children?: Child
}

/** A page of the console. */
export function Page({ title, page, live = false, children }: PageProps) {
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>{`${title} · plantgw`}</title>
        <link rel="stylesheet" href={at('browser.css')} />
        <script src={at('browser.js')} defer></script>
      </head>
      <body data-page={page} data-live={live ? 'yes' : undefined}>
        <a class="skip" href="#main">
          Skip to content
        </a>
        <header>
          <nav aria-label="Console">
            <strong>plantgw</strong>
            <ul>
              {PAGES.map(([name, label]) => (
                <li>
                  <a href={at(name)} aria-current={name === page ? 'page' : undefined}>
                    {label}
                  </a>
                </li>
              ))}
            </ul>
          </nav>
        </header>
        <p id="stale" class="bad" role="alert" hidden>
          The gateway does not answer, or the login has ended: load the page again.
        </p>
        <main id="main">
          <h1>{title}</h1>
          {children}
        </main>
      </body>
    </html>
  )
}

interface TableProps<Row> {
  label: string
  heads: readonly string[]
  rows: readonly Row[]
  cells: (row: Row) => Child[]
}

/** Maximum rows of a page. */
const MAX_ROWS = 500

/** A table. On narrow screens each cell shows the name of its column, and those without content are hidden. */
export function Table<Row>({ label, heads, rows, cells }: TableProps<Row>) {
  if (!rows.length) return <p class="none">None.</p>
  return (
    <>
      <table aria-label={label}>
        <thead>
          <tr>
            {heads.map((head) => (
              <th scope="col">{head}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, MAX_ROWS).map((row) => (
            <tr>
              {cells(row).map((cell, i) => (
                <td data-of={heads[i]}>{cell}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      <More count={rows.length - MAX_ROWS} />
    </>
  )
}

/** Says how many rows a page leaves out. @param count may be negative */
export function More({ count }: { count: number }) {
  if (count <= 0) return null
  return (
    <p class="none">
      And {count} more, which <code>GET /_status</code> lists.
    </p>
  )
}

interface ChoiceProps {
  label: string
  name: string
  options: readonly string[]
  chosen: string | undefined
  /** Text of the choice of all; absent: one is always chosen. */
  any?: string
}

/** A choice of one of several texts, in a form. */
export function Choice({ label, name, options, chosen, any }: ChoiceProps) {
  return (
    <label>
      {label}{' '}
      <select name={name}>
        {any !== undefined && <option value="">{any}</option>}
        {options.map((one) => (
          <option selected={one === chosen}>{one}</option>
        ))}
      </select>
    </label>
  )
}

/** A text of a machine below its title. @param id of the text, which scripts change */
export function Pane({ title, text, id }: { title: string; text?: string; id?: string }) {
  return (
    <section aria-label={title}>
      <h2>{title}</h2>
      <pre id={id} tabindex={0}>
        {text}
      </pre>
    </section>
  )
}

/** A point in time, as the time since then. @param at ISO 8601 */
export function Ago({ at, now = Date.now() }: { at: string; now?: number }) {
  return (
    <time datetime={at} title={at}>
      {agoText(now - Date.parse(at))}
    </time>
  )
}

/** `12 s ago`, `3 min ago`, `5 h ago`, `2 days ago`. */
export function agoText(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000))
  if (seconds < 60) return `${seconds} s ago`
  if (seconds < 3600) return `${Math.round(seconds / 60)} min ago`
  return seconds < 172_800
    ? `${Math.round(seconds / 3600)} h ago`
    : `${Math.round(seconds / 86_400)} days ago`
}

/** A page that only says why there is no other. */
export function MessagePage({ page, message }: { page: string; message: string }) {
  return (
    <Page title="Not found" page={page}>
      <p class="bad">{message}</p>
    </Page>
  )
}

/** A page that asks for the token of an administrator. */
export function LoginPage({ failed }: { failed: string | undefined }) {
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>Log in · plantgw</title>
        <link rel="stylesheet" href={at('browser.css')} />
      </head>
      <body>
        <main id="main">
          <h1>Log in to the console</h1>
          {failed && <p class="bad">{failed}</p>}
          <form method="post" action={at('login')}>
            <label>
              Token of the administrator (<code>admin.token</code> of the settings, or a token of a tenant)
              <input type="password" name="token" autocomplete="current-password" required />
            </label>
            <button type="submit">Log in</button>
          </form>
        </main>
      </body>
    </html>
  )
}
