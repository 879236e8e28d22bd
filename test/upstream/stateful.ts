/** A server with state over stdio, of the session-based revisions or of 2026-07-28; `PID#COUNT` is its answer. */
export function stateful(era: 'session' | 'modern', more: object = {}): object {
  return { type: 'stdio', command: process.execPath, args: ['-e', SERVER, era], ...more }
}

const SERVER = `
  const modern = process.argv[1] === 'modern'
  const META = 'io.modelcontextprotocol/'
  const LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency']
  let [late, lingering] = [() => {}, () => {}]
  let [count, questions, level, capabilities, enabled] = [0, 0, 'debug', undefined, false]
  const [seen, held, asked, subscribed, listens] = [[], [], new Map(), new Set(), new Map()]
  const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n')
  const notify = (method, params) => send({ method, params })
  const ask = (message, mode) =>
    new Promise((resolve) => {
      const id = 'q' + ++questions
      asked.set(id, resolve)
      const form = mode === 'url' ? { mode, url: 'https://example.com', elicitationId: 'e' } : { requestedSchema: { type: 'object', properties: {} } }
      send({ id, method: 'elicitation/create', params: { message, ...form } })
    })
  const said = ({ result, error }) => (result ? result.content?.said ?? result.action : 'error ' + error.code)
  const changed = (method, params, wanted) => {
    if (!modern) return notify(method, params)
    for (const [id, filter] of listens)
      if (wanted(filter)) notify(method, { ...params, _meta: { [META + 'subscriptionId']: id } })
  }
  const log = (at, data, wanted) => {
    if (wanted !== undefined && LEVELS.indexOf(at) >= LEVELS.indexOf(wanted)) notify('notifications/message', { level: at, data })
  }
  const TOOLS = {
    count: () => process.pid + '#' + ++count,
    capabilities: () => JSON.stringify(capabilities),
    seen: () => seen.join(),
    enable() {
      enabled = true
      changed('notifications/tools/list_changed', {}, (filter) => filter.toolsListChanged)
      return 'enabled'
    },
    extra: () => (enabled ? process.pid + '#extra' : 'Unknown tool extra'),
    touch({ uri }) {
      if (modern || subscribed.has(uri))
        changed('notifications/resources/updated', { uri }, (filter) => filter.resourceSubscriptions?.includes(uri))
      return process.pid + '#' + ++count
    },
    async ask({ about, mode }) {
      return process.pid + '#' + about + ' ' + said(await ask(about, mode))
    },
    async fallback() {
      const { error } = await ask('anything')
      return error ? 'without' : 'with'
    },
    async needs() {
      const { error } = await ask('anything')
      if (error) throw new Error('it cannot be')
      return 'with'
    },
    async twice({ about }) {
      const first = said(await ask(about + ' one'))
      return about + ' ' + first + ' ' + said(await ask(about + ' two'))
    },
    /** Says things while the client is asked. */
    async tell({ about, many }, meta) {
      const answer = ask(about)
      for (let i = 1; i <= (many ?? 5); i++) {
        notify('notifications/progress', { progressToken: meta.progressToken, progress: i })
        log('info', about + i, modern ? meta[META + 'logLevel'] : level)
      }
      return said(await answer)
    },
    /** Logs at every level, whatever is wanted. */
    noisy({ about }) {
      for (const level of LEVELS) notify('notifications/message', { level, data: about + ' ' + level })
      return process.pid + '#' + about
    },
    /** Answers once a list is asked for. */
    hold: ({ about }, meta) =>
      new Promise((resolve) => {
        log('info', about + ' begins', modern ? meta[META + 'logLevel'] : level)
        held.push(() => {
          log('info', about + ' ends', modern ? meta[META + 'logLevel'] : level)
          if (meta?.progressToken !== undefined) notify('notifications/progress', { progressToken: meta.progressToken, progress: 1 })
          resolve(process.pid + '#' + about)
        })
      }),
    /** Never answers, and logs once more before what comes after its cancellation. */
    linger({ about }, meta) {
      lingering = () => log('info', about + ' lingers', meta[META + 'logLevel'])
      log('info', about + ' begins', meta[META + 'logLevel'])
      return new Promise(() => {})
    },
    exit: () => process.exit(1),
  }
  require('node:readline').createInterface({ input: process.stdin }).on('line', async (line) => {
    const { id, method, params = {}, result, error } = JSON.parse(line)
    if (method === 'notifications/cancelled') [late, lingering] = [lingering, () => {}]
    else [late] = [() => {}, late()]
    if (method === undefined) return asked.get(id)?.({ result, error })
    seen.push(method + (method === 'notifications/cancelled' ? ' ' + params.reason : params.name ? ' ' + params.name : ''))
    if (id === undefined) return
    const complete = modern ? { resultType: 'complete', ttlMs: 0, cacheScope: 'private' } : {}
    const answer = (result) => send({ id, result: { ...complete, ...result } })
    const offered = { tools: { listChanged: true }, resources: { subscribe: true, listChanged: true }, logging: {} }
    if (!modern && method === 'initialize') {
      capabilities = params.capabilities
      return answer({ protocolVersion: params.protocolVersion, capabilities: offered, serverInfo: { name: 'stateful', version: '1' } })
    }
    if (modern && method === 'server/discover') return answer({ supportedVersions: ['2026-07-28'], capabilities: offered })
    if (modern && method === 'subscriptions/listen') {
      listens.set(id, params.notifications)
      return notify('notifications/subscriptions/acknowledged', { notifications: params.notifications, _meta: { [META + 'subscriptionId']: id } })
    }
    if (method === 'logging/setLevel') {
      level = params.level
      return answer({})
    }
    if (method === 'resources/subscribe') {
      subscribed.add(params.uri)
      return answer({})
    }
    if (method === 'tools/list') {
      for (const release of held.splice(0)) release()
      const names = Object.keys(TOOLS).filter((name) => name !== 'extra' || enabled)
      return answer({ tools: names.map((name) => ({ name, inputSchema: { type: 'object' } })) })
    }
    const tool = method === 'tools/call' && TOOLS[params.name]
    if (!tool) return send({ id, error: { code: -32601, message: 'Method not found' } })
    try {
      answer({ content: [{ type: 'text', text: await tool(params.arguments ?? {}, params._meta ?? {}) }] })
    } catch (error) {
      answer({ content: [{ type: 'text', text: error.message }], isError: true })
    }
  })
`
