// The parts of the console that need JavaScript: live pages, and the form of a tool.

const CONSOLE = '/_console'
const byId = (id) => document.getElementById(id)

/** Loads the page again and shows its content, unless a person is using it. */
async function refresh() {
  if (document.querySelector('main :focus') || !getSelection().isCollapsed) return
  const response = await fetch(location.href, { headers: { accept: 'text/html' } }).catch(() => undefined)
  if (!response?.ok) {
    byId('stale').hidden = false
    return
  }
  const next = new DOMParser().parseFromString(await response.text(), 'text/html')
  byId('main').replaceWith(document.adoptNode(next.getElementById('main')))
}

/** Follows changes while the page is seen: a browser has few connections for all its tabs. */
function follow() {
  let source
  const update = () => {
    source?.close()
    source = undefined
    if (document.hidden) return
    source = new EventSource(`${CONSOLE}/changes`)
    source.addEventListener('change', refresh)
  }
  document.addEventListener('visibilitychange', update)
  update()
}

if (document.body.dataset.live) follow()

// On the document, as live pages replace their content.
document.addEventListener('click', ({ target }) => {
  if (target.matches('.post')) post(target)
})

/** Sends what a button says, and shows the outcome. */
async function post(button) {
  const { path, body, ask } = button.dataset
  if (ask && !confirm(ask)) return
  button.disabled = true
  const response = await send(path, body)
  button.disabled = false
  // The versions are others now.
  if (ask && response.ok) {
    sessionStorage.setItem('outcome', JSON.stringify(response))
    location.reload()
  } else showOutcome(response)
}

/** Sends JSON to the console. @returns its answer, and whether it was done */
async function send(path, body) {
  try {
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(`${CONSOLE}/${path}`, { method: 'POST', headers, body })
    const isJson = response.headers.get('content-type')?.startsWith('application/json')
    const answer = isJson ? await response.json() : { message: 'The login has ended: log in in another tab' }
    return { ...answer, ok: response.ok }
  } catch {
    return { ok: false, message: 'The gateway does not answer' }
  }
}

function showOutcome({ ok, message, lines = [] }) {
  byId('state').textContent = message
  byId('state').className = ok && !lines.length ? 'good' : 'bad'
  byId('lines').replaceChildren(...lines.map((line) => element('li', line)))
}

const outcome = sessionStorage.getItem('outcome')
sessionStorage.removeItem('outcome')
if (outcome && byId('lines')) showOutcome(JSON.parse(outcome))

/** Values of JSON in which numbers keep their text, where the browser can. */
const parse = (text) =>
  JSON.parse(text, (_, value, context) =>
    typeof value === 'number' && context && JSON.rawJSON ? JSON.rawJSON(context.source) : value,
  )
const numberOf = (value) => Number(JSON.stringify(value))
const typeOf = (value) => {
  if (value === null) return 'null'
  if (JSON.isRawJSON?.(value)) return 'number'
  return Array.isArray(value) ? 'array' : typeof value
}
const isObject = (value) => typeOf(value) === 'object'
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b)

/** The form of a tool, prompt or resource. The JSON is what is sent; fields write it. */
function startItem({ dataset }) {
  const schema = parse(dataset.schema)
  const json = byId('json')
  let running

  const read = () => {
    const value = parse(json.value || '{}')
    if (!isObject(value)) throw new Error('The arguments must be an object')
    return value
  }
  const say = (text, isBad = false) => {
    byId('state').textContent = text
    byId('state').className = isBad ? 'bad' : ''
  }
  const show = (id, text) => {
    byId(id).textContent = text ?? ''
  }
  const build = () => {
    let given = {}
    try {
      given = read()
    } catch {
      // The form begins empty.
    }
    const change = (value) => {
      json.value = JSON.stringify(value ?? {}, undefined, 2)
    }
    byId('fields').replaceChildren(
      ...membersOf(schema, given, change, {
        root: schema,
        depth: 0,
        ...(dataset.kind !== 'tool' && { propose }),
      }),
    )
  }

  /** Shows the values that the server proposes for an argument. */
  async function propose(argument, options) {
    const response = await post('complete', { argument }).catch(() => undefined)
    const { values = [] } = response?.ok ? await response.json() : {}
    options.replaceChildren(...values.map((value) => element('option', value)))
  }

  function post(what, more, signal) {
    const authorization = byId('authorization')?.value
    const { prefix, kind, name } = dataset
    const rest = { prefix, [kind]: name, ...(authorization && { authorization }), ...more }
    read()
    // The texts as they are written, as numbers may be more exact than JavaScript's.
    const isMirrored = dataset.schema.includes('x-mcp-header')
    const schema = isMirrored ? `"schema":${dataset.schema},` : ''
    const body = `{"arguments":${json.value || '{}'},${schema}${JSON.stringify(rest).slice(1)}`
    const headers = { 'content-type': 'application/json' }
    return fetch(`${CONSOLE}/${what}`, { method: 'POST', headers, body, signal })
  }

  /** Runs `work` until it ends or is cancelled. */
  async function attempt(work) {
    running?.abort()
    const own = new AbortController()
    running = own
    byId('cancel').disabled = false
    try {
      await work(own.signal)
    } catch (error) {
      if (running === own) say(error.name === 'AbortError' ? 'Cancelled' : error.message, true)
    } finally {
      if (running === own) {
        byId('cancel').disabled = true
        byId('progress').hidden = true
      }
    }
  }

  const render = () =>
    attempt(async (signal) => {
      const response = await post('render', {}, signal)
      const { request, message } = await response.json()
      if (request === undefined) return say(message, true)
      mark(byId('sent'), request, read())
      show('received', '')
      show('shown', '')
      say('Nothing was sent.')
    })

  const call = (more) =>
    attempt(async (signal) => {
      say('Calling …')
      byId('questions').replaceChildren()
      for (const id of ['sent', 'received', 'shown']) show(id, '')
      const response = await post('call', more, signal)
      if (!response.ok) return say((await response.json()).message, true)
      for await (const line of linesOf(response.body)) {
        if (line.message) progress(line.message)
        else finish(line)
      }
    })

  function progress({ method, params = {} }) {
    say(progressOf(method, params))
    if (method !== 'notifications/progress') return
    const bar = byId('progress')
    bar.hidden = false
    bar.removeAttribute('value')
    if (params.total === undefined) return
    bar.max = numberOf(params.total)
    bar.value = numberOf(params.progress)
  }

  function finish({ answer, exchanges = [], ms, savedTokens = 0 }) {
    mark(byId('sent'), exchanges.map(({ sent }) => sent).join('\n\n') || 'Nothing was sent.', read())
    const received = exchanges.map(({ status, received = 'no answer', ms }) => {
      const begin = status === undefined ? '' : `${numberOf(status)}, `
      return `${begin}${Math.round(numberOf(ms))} ms\n\n${received}`
    })
    show('received', received.join('\n\n'))
    const { cut, characters, result = answer.error ?? {} } = answer
    show('shown', cut === undefined ? textOf(result) : `${cut}…`)
    const tokens = Math.ceil(numberOf(characters ?? JSON.stringify(result).length) / 4)
    const saved = numberOf(savedTokens)
    const before = saved ? `, ${tokens + saved} before shaping` : ''
    const isBad = answer.error !== undefined || answer.isError === true || result.isError === true
    const time = ms === undefined ? '' : ` in ${Math.round(numberOf(ms))} ms`
    say(`${isBad ? 'Failed' : 'Done'}${time}, about ${tokens} tokens for the model${before}.`, isBad)
    if (result.resultType === 'input_required') ask(result)
  }

  /** Shows the questions of a server; the answers repeat the call. */
  function ask({ inputRequests = {}, requestState }) {
    const responses = {}
    const forms = Object.entries(inputRequests).map(([key, { method, params = {} }]) => {
      const form = element('fieldset')
      form.append(element('legend', 'The server asks'), element('p', params.message ?? method ?? ''))
      const schema = params.requestedSchema ?? {}
      let content = defaultsOf(schema)
      if (params.url) {
        const link = element('a', params.url)
        if (/^https?:/.test(params.url)) link.href = params.url
        link.rel = 'noreferrer'
        link.target = '_blank'
        form.append(link)
      } else {
        const change = (value) => {
          content = value ?? {}
        }
        form.append(...membersOf(schema, content, change, { root: schema, depth: 0 }))
      }
      for (const action of ['accept', 'decline', 'cancel']) {
        const answer = button(action, () => {
          responses[key] = { action, ...(action === 'accept' && !params.url && { content }) }
          form.disabled = true
          if (Object.keys(responses).length === Object.keys(inputRequests).length)
            call({ inputResponses: responses, ...(requestState !== undefined && { requestState }) })
        })
        form.append(answer, ' ')
      }
      return form
    })
    byId('questions').replaceChildren(...forms)
    byId('questions').querySelector('input, select, textarea, a, button')?.focus()
    say('The server asks for input.')
  }

  build()
  json.addEventListener('change', build)
  byId('render')?.addEventListener('click', render)
  byId('call')?.addEventListener('click', () => call())
  byId('cancel').addEventListener('click', () => running?.abort())
  for (const one of document.querySelectorAll('.copy'))
    one.addEventListener('click', () => {
      try {
        const text = copyOf(one.dataset.form, dataset, read())
        show('copied', text)
        navigator.clipboard?.writeText(text).catch(() => {})
      } catch (error) {
        say(error.message, true)
      }
    })
}

function element(name, text) {
  const made = document.createElement(name)
  if (text !== undefined) made.textContent = text
  return made
}

function button(text, onClick) {
  const made = element('button', text)
  made.type = 'button'
  made.addEventListener('click', onClick)
  return made
}

/** Characters that are shown of a description. */
const MAX_HINT = 1000

/** Objects within objects that have inputs of their own; deeper ones are JSON. */
const MAX_DEPTH = 6

/** A schema with its reference followed, and its `null` left out. */
function resolved(given, root) {
  let schema = isObject(given) ? given : {}
  for (let i = 0; i < MAX_DEPTH && typeof schema.$ref === 'string' && schema.$ref.startsWith('#/'); i++) {
    const path = schema.$ref.slice(2).split('/')
    const { $ref: _, ...rest } = schema
    const target = path.reduce((at, key) => at?.[key.replaceAll('~1', '/').replaceAll('~0', '~')], root)
    schema = { ...(isObject(target) && target), ...rest }
  }
  return schema
}

/** The alternatives of a schema; empty: there is one. */
function variantsOf(schema, root) {
  const { anyOf, oneOf = anyOf, type, ...rest } = schema
  const variants = Array.isArray(oneOf)
    ? oneOf.map((one) => resolved(one, root))
    : Array.isArray(type)
      ? type.map((one) => ({ ...rest, type: one }))
      : []
  return variants.filter((one) => one.type !== 'null')
}

function fits(schema, value) {
  if (schema.const !== undefined) return same(schema.const, value)
  if (Array.isArray(schema.enum)) return schema.enum.some((one) => same(one, value))
  const type = schema.type === 'integer' ? 'number' : schema.type
  if (type !== undefined && type !== typeOf(value)) return false
  const properties = isObject(schema.properties) && isObject(value) ? Object.entries(schema.properties) : []
  return properties.every(([key, one]) => one?.const === undefined || same(one.const, value[key]))
}

/** The members of an object that its schema determines, or proposes. */
function defaultsOf({ properties = {} }) {
  const known = Object.entries(properties).map(([key, one]) => [key, one?.const ?? one?.default])
  return Object.fromEntries(known.filter(([, value]) => value !== undefined))
}

/** Fields for the members of an object. @param change called with the changed object; undefined: it is empty */
function membersOf(schema, value, change, context) {
  const required = new Set(schema.required ?? [])
  let current = isObject(value) ? value : {}
  return Object.entries(schema.properties ?? {}).map(([key, property]) => {
    const changed = (next) => {
      const { [key]: _, ...rest } = current
      current = next === undefined ? rest : { ...current, [key]: next }
      change(Object.keys(current).length ? current : undefined)
    }
    const place = { ...context, depth: context.depth + 1, key, isRequired: required.has(key) }
    const own = Object.hasOwn(current, key) ? current[key] : undefined
    return fieldOf(property, own, changed, property?.title ?? key, place)
  })
}

/** A field for a value; what has no input of its own is JSON. */
function fieldOf(given, value, change, label, context) {
  const { root, depth } = context
  let schema = resolved(given, root)
  const variants = variantsOf(schema, root)
  const isChoice = variants.length > 0 && variants.every((one) => one.const !== undefined)
  if (variants.length === 1) schema = { ...schema, ...variants[0] }
  else if (variants.length && !isChoice) return unionOf(schema, variants, value, change, label, context)
  const { type, properties, items } = schema
  if (isChoice)
    schema = { ...schema, enum: variants.map((one) => one.const), titles: variants.map((one) => one.title) }
  else if (depth <= MAX_DEPTH && type === 'object' && properties)
    return group(labelOf(label, context), schema, ...membersOf(schema, value, change, context))
  else if (depth <= MAX_DEPTH && type === 'array' && isObject(items))
    return listOf(schema, value, change, label, context)
  return inputField(schema, value, change, label, context)
}

/** The label of a field, which says whether its value is required. */
const labelOf = (label, { isRequired }) => (isRequired ? `${label} (required)` : label)

function group(label, { description }, ...nodes) {
  const made = element('fieldset')
  made.append(element('legend', label), ...hintOf(description), ...nodes)
  return made
}

function hintOf(description) {
  if (!description) return []
  const hint = element('span', String(description).slice(0, MAX_HINT))
  hint.className = 'hint'
  return [hint]
}

/** A choice of one of several schemas, and the field of the chosen one. */
function unionOf(schema, variants, value, change, label, context) {
  const nameOf = ({ title, properties = {}, type, items }, i) =>
    title ??
    Object.values(properties).find((one) => one?.const !== undefined)?.const ??
    (items?.type ? `${type} of ${items.type}` : (type ?? `variant ${i + 1}`))
  const choice = element('select')
  choice.setAttribute('aria-label', `Type of ${label}`)
  choice.append(element('option', ''), ...variants.map((one, i) => element('option', String(nameOf(one, i)))))
  const place = element('div')
  const show = (initial) => {
    const variant = variants[choice.selectedIndex - 1]
    place.replaceChildren(
      ...(variant
        ? [
            fieldOf(variant, initial, change, label, {
              ...context,
              depth: context.depth + 1,
              isRequired: false,
            }),
          ]
        : []),
    )
  }
  choice.selectedIndex = value === undefined ? 0 : variants.findIndex((one) => fits(one, value)) + 1
  show(value)
  choice.addEventListener('change', () => {
    const fixed = defaultsOf(variants[choice.selectedIndex - 1] ?? {})
    const initial = Object.keys(fixed).length ? fixed : undefined
    change(initial)
    show(initial)
  })
  return group(labelOf(label, context), schema, choice, place)
}

/** The fields of an array's items, which can be added and removed. */
function listOf(schema, value, change, label, context) {
  let current = Array.isArray(value) ? value : []
  const place = element('div')
  const tell = () => change(current.length ? current.map((one) => one ?? null) : undefined)
  const show = () =>
    place.replaceChildren(
      ...current.flatMap((one, i) => {
        const changed = (next) => {
          current = current.with(i, next)
          tell()
        }
        const remove = button(`Remove ${label} ${i + 1}`, () => {
          current = current.toSpliced(i, 1)
          tell()
          show()
        })
        return [
          fieldOf(schema.items, one, changed, `${label} ${i + 1}`, {
            ...context,
            depth: context.depth + 1,
            isRequired: false,
          }),
          remove,
        ]
      }),
    )
  show()
  const add = button(`Add to ${label}`, () => {
    current = [...current, undefined]
    show()
    place.lastElementChild.previousElementSibling.querySelector('input, select, textarea')?.focus()
  })
  return group(labelOf(label, context), schema, place, add)
}

function inputField(schema, value, change, label, context) {
  const { propose, key } = context
  const made = element('label', labelOf(label, context))
  const input = inputFor(schema)
  const { node } = input
  if (value !== undefined) input.write(value)
  else if (schema.default !== undefined) node.placeholder = JSON.stringify(schema.default)
  node.addEventListener('input', () => {
    try {
      change(input.read())
      node.setCustomValidity('')
      node.removeAttribute('aria-invalid')
    } catch (error) {
      node.setCustomValidity(error.message)
      node.setAttribute('aria-invalid', 'true')
    }
  })
  made.append(node, ...hintOf(schema.description))
  if (propose) {
    const options = element('datalist')
    options.id = `options-${key}`
    node.setAttribute('list', options.id)
    for (const event of ['focus', 'input']) node.addEventListener(event, () => propose(key, options))
    made.append(options)
  }
  return made
}

/** An input for a schema, with its value; an empty one is undefined. */
function inputFor({
  enum: given,
  titles = [],
  const: only,
  type,
  contentMediaType,
  contentEncoding,
  format,
}) {
  const values = only === undefined ? given : [only]
  if (values || type === 'boolean') {
    const node = element('select')
    const all = values ?? [true, false]
    const texts = all.map(
      (value, i) => titles[i] ?? (typeof value === 'string' ? value : JSON.stringify(value)),
    )
    node.append(element('option', ''), ...texts.map((text) => element('option', text)))
    return {
      node,
      read: () => (node.selectedIndex > 0 ? all[node.selectedIndex - 1] : undefined),
      write: (value) => {
        node.selectedIndex = all.findIndex((one) => same(one, value)) + 1
      },
    }
  }
  if (
    type === 'string' &&
    (contentMediaType || contentEncoding === 'base64' || /^(?:byte|binary)$/.test(format))
  )
    return fileInput()
  const isText = type === 'string'
  const node = element(isText || type === 'number' || type === 'integer' ? 'input' : 'textarea')
  // An input of numbers would change what is too large for JavaScript.
  if (node.localName === 'input') node.type = 'text'
  if (node.localName === 'input' && !isText) node.inputMode = type === 'integer' ? 'numeric' : 'decimal'
  return {
    node,
    read: () => (node.value === '' ? undefined : isText ? node.value : parse(node.value)),
    write: (value) => {
      node.value = isText && typeof value === 'string' ? value : JSON.stringify(value)
    },
  }
}

/** The content of a file as Base64. */
function fileInput() {
  const node = element('input')
  node.type = 'file'
  let content
  node.addEventListener('change', async () => {
    const [file] = node.files
    const bytes = file ? new Uint8Array(await file.arrayBuffer()) : undefined
    content = bytes && btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))
    node.dispatchEvent(new Event('input'))
  })
  return { node, read: () => content, write: () => {} }
}

/** The objects of a stream of JSON lines. */
async function* linesOf(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  for (;;) {
    const { done, value = '' } = await reader.read()
    const lines = (text + value).split('\n')
    text = lines.pop()
    for (const line of lines) if (line) yield parse(line)
    if (done) return
  }
}

function progressOf(method, { progress, total, message }) {
  if (method !== 'notifications/progress') return `${method} …`
  const of = total === undefined ? '' : ` of ${JSON.stringify(total)}`
  return `Progress: ${JSON.stringify(progress)}${of}${message ? `, ${message}` : ''}`
}

/** The texts of a result as a model reads them; other content as JSON. */
function textOf(result) {
  const { content, ...rest } = result
  if (!Array.isArray(content)) return JSON.stringify(result, undefined, 2)
  const texts = content.map((one) => (one.type === 'text' ? one.text : JSON.stringify(one, undefined, 2)))
  delete rest._meta
  delete rest.resultType
  return [...texts, ...(Object.keys(rest).length ? [JSON.stringify(rest, undefined, 2)] : [])].join('\n\n')
}

/** Maximum values that are looked for in a request. */
const MAX_MARKED = 200

/** The texts in an argument, each with the forms in which a request may have it. */
function* formsOf(name, value) {
  if (isObject(value) || Array.isArray(value)) {
    for (const [key, one] of Object.entries(value)) yield* formsOf(`${name}.${key}`, one)
    return
  }
  const plain = typeof value === 'string' ? value : JSON.stringify(value)
  const forms = [plain, encodeURIComponent(plain), JSON.stringify(plain).slice(1, -1)]
  for (const form of new Set(forms)) if (form) yield { name, form }
}

/** Shows a request, and marks the values of arguments in it. */
function mark(node, text, given) {
  const values = []
  for (const [name, value] of Object.entries(given))
    for (const one of formsOf(name, value)) if (values.length < MAX_MARKED) values.push(one)
  values.sort((a, b) => b.form.length - a.form.length)
  // Short values are marked only where they stand alone.
  const isWhole = (form, at) =>
    form.length > 2 || !(/\w/.test(text[at - 1] ?? '') || /\w/.test(text[at + form.length] ?? ''))
  const pieces = []
  let plain = ''
  for (let at = 0; at < text.length; ) {
    const found = values.find(({ form }) => text.startsWith(form, at) && isWhole(form, at))
    if (!found) {
      plain += text[at++]
      continue
    }
    const marked = element('mark', found.form)
    marked.title = `the argument ${found.name}`
    pieces.push(plain, marked)
    plain = ''
    at += found.form.length
  }
  node.replaceChildren(...pieces, plain)
}

const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`

function copyOf(form, { prefix, kind, method, name }, given) {
  const text = JSON.stringify(given)
  if (form.startsWith('plantgw')) return `${form} ${quoted(prefix)} ${quoted(name)} ${quoted(text)}`
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const own = kind === 'tool' || kind === 'prompt' ? { name, arguments: given } : { uri: uriOf(name, given) }
  const message = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...own, _meta } })
  if (form === 'MCP JSON') return message
  const url = `${location.origin}${prefix === '/' ? '' : prefix}/mcp`
  const headers = [
    'Content-Type: application/json',
    'Accept: application/json, text/event-stream',
    'MCP-Protocol-Version: 2026-07-28',
    `Mcp-Method: ${method}`,
    `Mcp-Name: ${own.name ?? own.uri}`,
  ]
  return [
    `curl ${quoted(url)}`,
    ...headers.map((header) => `-H ${quoted(header)}`),
    `-d ${quoted(message)}`,
  ].join(' \\\n  ')
}

/** A URI template with its simple variables filled. */
function uriOf(template, given) {
  return template.replace(/\{(\+?)(\w+)\*?\}/g, (_, plus, name) =>
    plus ? encodeURI(given[name] ?? '') : encodeURIComponent(given[name] ?? ''),
  )
}

const item = byId('item')
if (item) startItem(item)
