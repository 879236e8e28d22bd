import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { everythingStdio } from '../../fixtures/everything/start.ts'
import type { Command } from '../../fixtures/program.ts'
import type { Connected, Generation } from './clients.ts'
import type { Recorded } from './record.ts'

/** A server over standard input and output, and what is asked of it. */
export interface Compared {
  name: string
  clients: Generation[]
  /** `root` is the folder that it may use. */
  command(root: string): Command
  /** Makes `root` as it is at the start of each run. */
  prepare?(root: string): void
  run(client: Connected, root: string): Promise<void>
}

function installed(name: string): Command {
  const folder = dirname(createRequire(import.meta.url).resolve(`${name}/package.json`))
  return { command: process.execPath, args: [join(folder, 'dist/index.js')] }
}

function comes(method: string, data?: RegExp) {
  return (message: Recorded) =>
    message.method === method && (!data || data.test(JSON.stringify(message.params)))
}

/** Asks for each list, and each entry of it that can be asked for by itself. */
async function listAll(client: Connected, lists: readonly string[]): Promise<void> {
  for (const list of lists) await client.request(`${list}/list`)
}

type CallArgs = [tool: string, args?: Record<string, unknown>, withProgress?: boolean]

async function callAll(client: Connected, calls: CallArgs[]): Promise<void> {
  for (const [name, args = {}, withProgress] of calls)
    await client.request('tools/call', { name, arguments: args }, withProgress)
}

const everything: Compared = {
  name: '@modelcontextprotocol/server-everything',
  clients: ['1.x', '2.x'],
  command: () => {
    const { command, args } = installed('@modelcontextprotocol/server-everything')
    return { command, args: [...args, 'stdio'] }
  },
  async run(client) {
    // It asks for the roots on its own, a moment after the handshake, and logs that it has them.
    await client.until(comes('notifications/message', /Roots updated/))
    await listAll(client, ['tools', 'prompts', 'resources', 'resources/templates'])
    const data = `data:text/plain,${'plant '.repeat(100)}`
    await callAll(client, [
      ['echo', { message: 'Grüße "quoted" \u2028 😀' }],
      ['get-annotated-message', { messageType: 'error', includeImage: true }],
      ['get-annotated-message', { messageType: 'debug' }],
      ['get-resource-links', { count: 4 }],
      ['get-resource-reference', { resourceType: 'Text', resourceId: 2 }],
      ['get-resource-reference', { resourceType: 'Blob', resourceId: 3 }],
      ['get-structured-content', { location: 'Chicago' }],
      ['get-sum', { a: 0.1, b: 0.2 }],
      ['get-sum', { a: 'one', b: 2 }],
      ['get-tiny-image'],
      ['get-roots-list'],
      ['gzip-file-as-resource', { name: 'a.gz', data, outputType: 'resource' }],
      ['trigger-sampling-request', { prompt: 'Say plant', maxTokens: 10 }],
      ['trigger-elicitation-request'],
      ['trigger-long-running-operation', { duration: 0.2, steps: 4 }, true],
      ['no-such-tool'],
    ])
    for (const name of ['simple-prompt', 'no-such-prompt']) await client.request('prompts/get', { name })
    await client.request('prompts/get', { name: 'args-prompt', arguments: { city: 'Kyoto', state: '京都' } })
    await client.request('prompts/get', {
      name: 'resource-prompt',
      arguments: { resourceType: 'Text', resourceId: '1' },
    })
    const ref = { type: 'ref/prompt', name: 'completable-prompt' }
    await client.request('completion/complete', { ref, argument: { name: 'department', value: 'E' } })
    for (const uri of [
      'demo://resource/static/document/architecture.md',
      'demo://resource/dynamic/text/7',
      'demo://resource/dynamic/blob/7',
      'demo://resource/none',
    ])
      await client.request('resources/read', { uri })
    await client.request('resources/subscribe', { uri: 'demo://resource/dynamic/text/7' })
    await client.request('resources/unsubscribe', { uri: 'demo://resource/dynamic/text/7' })
    await client.request('logging/setLevel', { level: 'warning' })
    await client.request('tasks/list')
    await client.request('tasks/get', { taskId: 'no-such-task' })
    await client.request('ping')
    await client.request('example.com/unknown', { any: ['thing'] })
  },
}

const filesystem: Compared = {
  name: '@modelcontextprotocol/server-filesystem',
  clients: ['1.x', '2.x'],
  command: (root) => {
    const { command, args } = installed('@modelcontextprotocol/server-filesystem')
    return { command, args: [...args, root] }
  },
  prepare(root) {
    rmSync(root, { recursive: true, force: true })
    mkdirSync(join(root, 'deep/er'), { recursive: true })
    writeFileSync(join(root, 'a.txt'), 'one\ntwo\nthree\n')
    writeFileSync(join(root, 'deep/er/b.txt'), 'Grüße\u2028\0\n')
    writeFileSync(join(root, 'c.png'), Buffer.from('89504e470d0a1a0a', 'hex'))
  },
  async run(client, root) {
    await client.until(comes('roots/list'))
    await listAll(client, ['tools', 'prompts', 'resources'])
    await callAll(client, [
      ['list_allowed_directories'],
      ['read_text_file', { path: `${root}/a.txt`, head: 2 }],
      ['read_text_file', { path: `${root}/deep/er/b.txt` }],
      ['read_text_file', { path: `${root}/none.txt` }],
      ['read_text_file', { path: '/etc/passwd' }],
      ['read_media_file', { path: `${root}/c.png` }],
      ['read_multiple_files', { paths: [`${root}/a.txt`, `${root}/none`] }],
      ['write_file', { path: `${root}/new.txt`, content: 'x'.repeat(200_000) }],
      ['edit_file', { path: `${root}/a.txt`, edits: [{ oldText: 'two', newText: '2' }], dryRun: true }],
      ['edit_file', { path: `${root}/a.txt`, edits: [{ oldText: 'two', newText: '2' }] }],
      ['create_directory', { path: `${root}/made` }],
      ['move_file', { source: `${root}/new.txt`, destination: `${root}/made/moved.txt` }],
      ['list_directory', { path: root }],
      ['list_directory_with_sizes', { path: root, sortBy: 'size' }],
      ['directory_tree', { path: root }],
      ['search_files', { path: root, pattern: '**/*.txt' }],
      ['get_file_info', { path: `${root}/made/moved.txt` }],
      ['get_file_info', {}],
      ['no_such_tool'],
    ])
  },
}

/** What the public servers do not show. */
const TELLING: CallArgs[] = [
  ['test_structured_content', { value: [1e21, '9007199254740993', null, { a: '\u0000' }] }],
  ['test_resource_links'],
  ['test_multiple_content_types'],
  ['test_tool_with_progress', {}, true],
  ['test_sampling', { prompt: 'p' }],
  ['test_input_required_result_multiple_inputs'],
  ['test_input_required_result_multi_round'],
  ['test_error_handling'],
]

/** Ours, on the SDK's first generation. */
const ours: Compared = {
  name: 'everything-server of the first generation',
  clients: ['1.x', '2.x'],
  command: () => everythingStdio('session'),
  async run(client) {
    await listAll(client, ['tools', 'prompts', 'resources', 'resources/templates'])
    await callAll(client, [...TELLING, ['test_tool_with_logging']])
    const _meta = { 'example.com/trace': { id: 'a', deep: [1.5, -0.0] } }
    await client.request('tools/call', { name: 'test_structured_content', arguments: {}, _meta })
    await client.request('resources/read', { uri: 'test://none' })
    await client.request('completion/complete', {
      ref: { type: 'ref/resource', uri: 'test://template/{id}/data' },
      argument: { name: 'id', value: 'pa' },
    })
    await client.request('resources/subscribe', { uri: 'test://watched-resource' })
    for (const uri of ['test://static-text', 'test://watched-resource'])
      await client.request('tools/call', { name: 'test_trigger_resource_update', arguments: { uri } })
    await client.until(comes('notifications/resources/updated'))
    for (const kind of ['tool', 'prompt', 'resource']) {
      await client.request('tools/call', { name: `test_trigger_${kind}_change`, arguments: {} })
      await client.until(comes(`notifications/${kind}s/list_changed`))
    }
  },
}

/** Ours, on its second, asked in 2026-07-28. */
const modern: Compared = {
  name: 'everything-server of the second generation',
  clients: ['2.x modern'],
  command: () => everythingStdio('modern'),
  async run(client) {
    await listAll(client, ['tools', 'prompts', 'resources', 'resources/templates'])
    await callAll(client, TELLING)
    const _meta = {
      'example.com/trace': { id: 'a', deep: [1.5, null] },
      'io.modelcontextprotocol/logLevel': 'info',
    }
    await client.request('tools/call', { name: 'test_structured_content', arguments: {}, _meta })
    await client.request('tools/call', { name: 'test_tool_with_logging', arguments: {}, _meta })
    await client.request('prompts/get', { name: 'test_input_required_result_prompt' })
    for (const uri of ['test://static-binary', 'test://none']) await client.request('resources/read', { uri })
    await client.request('completion/complete', {
      ref: { type: 'ref/resource', uri: 'test://template/{id}/data' },
      argument: { name: 'id', value: 'pa' },
    })
  },
}

export const COMPARED: Compared[] = [everything, filesystem, ours, modern]
