import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { call, HOSTILE, OPTIONS, seen } from './in-browser.ts'

const argumentsOf = async (page: Page) => JSON.parse(await page.locator('#json').inputValue())

test('alternatives, files, nested arrays and recursive schemas have inputs', OPTIONS, async (t) => {
  const { page, origin, faults } = await seen(t)
  await page.goto(`${origin}/_console/tools?prefix=/odd&tool=echo`)
  const field = (label: string) => page.getByLabel(label, { exact: true })
  const add = (label: string) => page.getByRole('button', { name: `Add to ${label}`, exact: true }).click()
  await field('Type of shape').selectOption('circle')
  await field('radius').fill('1.50')
  assert.match(await page.locator('#json').inputValue(), /"radius": 1\.50/)
  // Another alternative begins anew.
  await field('Type of shape').selectOption('box')
  assert.deepEqual(await argumentsOf(page), { shape: { kind: 'box' } })
  for (const row of [1, 2]) {
    await add('sides')
    for (const column of [1, 2]) {
      await add(`sides ${row}`)
      await field(`sides ${row} ${column}`).fill(String(row * column))
    }
  }
  await page.getByRole('button', { name: 'Remove sides 1 1', exact: true }).click()
  await field('Type of either').selectOption('integer')
  await field('either').fill('7')
  await page.getByLabel(/^maybe/).selectOption('true')
  await page.getByLabel(/^color/).selectOption('Green')
  await field('photo').setInputFiles({
    name: 'a.png',
    mimeType: 'image/png',
    buffer: Buffer.from([0, 255, 10]),
  })
  await add('people')
  await field('name').first().fill('Ada')
  await add('tags')
  await field('tags 1').fill('math')
  await field('name').nth(1).fill('root')
  await field('name').nth(2).fill('leaf')
  const expected = {
    shape: { kind: 'box', sides: [[2], [2, 4]] },
    either: 7,
    maybe: true,
    color: 2,
    photo: 'AP8K',
    people: [{ name: 'Ada', tags: ['math'] }],
    tree: { name: 'root', child: { name: 'leaf' } },
  }
  await page.waitForFunction('document.getElementById("json").value.includes("AP8K")')
  assert.deepEqual(await argumentsOf(page), expected)
  assert.match(await call(page), /^Done/)
  assert.deepEqual(JSON.parse(await page.locator('#shown').innerText()), expected)
  // The form shows what is written as JSON, and an empty field is left out.
  await page.locator('#json').fill('{"either":["a","b"],"shape":{"kind":"circle","radius":2}}')
  await page.locator('#json').blur()
  assert.equal(await field('radius').inputValue(), '2')
  assert.equal(await field('either 2').inputValue(), 'b')
  await field('radius').fill('')
  assert.deepEqual(await argumentsOf(page), { either: ['a', 'b'], shape: { kind: 'circle' } })
  assert.deepEqual(faults, [])
})

test('the keyboard alone leads from the login to the answer of a call', OPTIONS, async (t) => {
  const token = 'an-admin-token-of-30-characters'
  const { page, origin, faults } = await seen(t, {}, { admin: { token }, console: { calls: true } })
  const { keyboard } = page
  const focused = () => page.evaluate('document.activeElement.innerText || document.activeElement.id || ""')
  /** Presses Tab until an element with this text, label or id has the focus. */
  const tabTo = async (wanted: RegExp) => {
    for (let i = 0; i < 80; i++) {
      await keyboard.press('Tab')
      const label = 'document.activeElement.labels?.[0]?.innerText ?? ""'
      if (wanted.test(`${await focused()} ${await page.evaluate(label)}`)) return
    }
    assert.fail(`the keyboard does not reach ${wanted}`)
  }
  await page.goto(`${origin}/_console/tools`)
  await tabTo(/Token of the administrator/)
  await keyboard.type(token)
  await keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  await keyboard.press('Tab')
  assert.match(String(await focused()), /Skip to content/)
  await tabTo(/^Tools/)
  await keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Tools' }).waitFor()
  await tabTo(/^order/)
  await keyboard.press('Enter')
  await page.getByRole('heading', { name: 'order' }).waitFor()
  await tabTo(/id \(required\)/)
  await keyboard.type('7')
  await tabTo(/^Add to tags/)
  await keyboard.press('Enter')
  // The new field has the focus.
  await keyboard.type('x')
  await tabTo(/^Call/)
  await keyboard.press('Enter')
  await page.locator('#state').filter({ hasText: /^Done/ }).waitFor()
  assert.match(await page.locator('#sent').innerText(), /orders\/7.*"tags":\["x"\]/s)
  // Long panes scroll by keyboard.
  await tabTo(/orders\/7/)
  assert.deepEqual(
    faults.filter((fault) => !/status of 401/.test(fault)),
    [],
  )
})

const OWNED = 'document.title === "owned" || document.querySelector("img, main script:not([src])") !== null'

test(
  'hostile bytes in names, descriptions, arguments, answers and standard error are text',
  OPTIONS,
  async (t) => {
    const { page, origin, faults } = await seen(t)
    const sound = async (what: string) => {
      assert.equal(await page.evaluate(OWNED), false, what)
      const { width, height } = await page.evaluate<{ width: number; height: number }>(
        'document.body.getBoundingClientRect().toJSON()',
      )
      assert.ok(width <= 1280 && height < 40_000, `${what} is ${width} wide and ${height} high`)
    }
    const open = async (path: string) => {
      await page.goto(`${origin}/_console${path}`)
      await sound(path)
    }
    await open('/tools?prefix=/odd')
    const link = page.getByRole('link', { name: '<img src=x' })
    await link.click()
    await page.getByRole('heading', { name: '<img src=x' }).waitFor()
    await sound('the tool')
    await page.getByLabel('<img src=x').selectOption({ index: 1 })
    assert.match(await call(page), /^Done/)
    assert.match(await page.locator('#shown').innerText(), /^<img src=x/)
    for (const form of ['curl', 'plantgw call', 'MCP JSON'])
      await page.getByRole('button', { name: form, exact: true }).click()
    await sound('the call')
    await open('/tools?prefix=/odd&tool=long')
    assert.match(await call(page), /^Done/)
    const shown = await page.locator('#shown').innerText()
    assert.match(shown, /<img src=x/)
    assert.ok(shown.length < 100_000, `${shown.length} characters of an answer`)
    await sound('a long answer')
    await open('/tools?prefix=/odd&tool=echo')
    await page.locator('#json').fill(JSON.stringify({ either: HOSTILE + 'y'.repeat(1_000_000) }))
    await page.locator('#json').blur()
    assert.match(await call(page), /^Done/)
    await sound('a long argument')
    for (const path of [
      '',
      '/calls',
      '/calls?q=img',
      '/calls?id=1',
      '/calls?id=2',
      '/calls?id=3',
      '/servers',
    ])
      await open(path)
    await open('/servers?prefix=/odd')
    assert.match(await page.locator('pre').first().innerText(), /the last line/)
    for (const kind of ['prompt', 'resource', 'template']) await open(`/tools?prefix=/odd&kind=${kind}`)
    await page.getByRole('link', { name: 'note' }).click()
    await page.getByRole('heading', { name: 'note' }).waitFor()
    await sound('a template')
    assert.match(await call(page), /^Failed/)
    await sound('a failed call')
    assert.deepEqual(faults, [])
  },
)

test('marks in a name turn no text beside it', OPTIONS, async (t) => {
  const { page, origin } = await seen(t)
  await page.goto(`${origin}/_console/tools?prefix=/odd`)
  await page.getByRole('link', { name: '<img src=x' }).click()
  await page.getByRole('button', { name: 'Call', exact: true }).click()
  await page.locator('#state').filter({ hasText: /^Done/ }).waitFor()
  await page.goto(`${origin}/_console/calls?id=1`)
  // The text behind the name is read from left to right.
  const [first, last] = await page.evaluate<[number, number]>(`(() => {
    const text = [...document.querySelector('main p').childNodes].find((one) => /revision/.test(one.data))
    const x = (at) => {
      const range = document.createRange()
      range.setStart(text, at)
      range.setEnd(text, at + 1)
      return range.getBoundingClientRect().x
    }
    const at = text.data.indexOf('revision')
    return [x(at), x(at + 7)]
  })()`)
  assert.ok(first < last, `${first} is right of ${last}`)
})
