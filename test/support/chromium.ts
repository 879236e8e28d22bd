import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { TestContext } from 'node:test'
import { chromium, type Page } from 'playwright-core'

const program = ['chromium', 'google-chrome'].find((name) => !spawnSync(name, ['--version']).error)

/** The installed browser; undefined: there is none. */
export const chromiumPath = program && spawnSync('which', [program], { encoding: 'utf8' }).stdout.trim()

/** Why tests of pages are left out; false where a browser is installed. */
export const noChromium: string | false = program === undefined && 'no Chromium on this machine'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** Barriers for people with screen readers and others that axe finds on a page: the rule, and an element. */
export function barriers(page: Page): Promise<string[]> {
  return page.evaluate(
    `${AXE}; axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes[0].html))`,
  )
}

export type Scheme = 'light' | 'dark'

export interface View {
  width: number
  height: number
  scheme: Scheme
  /** Uses the page before the picture is taken. */
  use?: ((page: Page) => Promise<void>) | undefined
}

/** A PNG of the page at 2 device pixels for each CSS pixel, and its HTML, once its scripts have run. */
export async function look(
  t: TestContext,
  url: string,
  { width, height, scheme, use }: View,
): Promise<{ png: Buffer; dom: string }> {
  const browser = await chromium.launch({ executablePath: chromiumPath as string, args: ['--no-sandbox'] })
  t.after(() => browser.close())
  const options = { viewport: { width, height }, deviceScaleFactor: 2, colorScheme: scheme }
  const page = await browser.newPage(options)
  await page.goto(url, { waitUntil: 'load' })
  await use?.(page)
  return { png: await page.screenshot(), dom: await page.content() }
}
