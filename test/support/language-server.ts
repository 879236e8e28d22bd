import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ROOT } from './process.ts'

export interface Diagnostic {
  message: string
  range: Record<'start' | 'end', { line: number; character: number }>
}

export interface Completion {
  label: string
  insertText?: string
  documentation?: string | { value: string }
}

interface Message {
  id?: number
  method?: string
  params?: unknown
  result?: unknown
  error?: { message: string }
}

export interface LanguageServer {
  /** Opens a text as if it were this file, and gives what is wrong with it. */
  open(file: string, text: string): Promise<Diagnostic[]>
  /** What can stand at a place; lines and characters count from 0. */
  complete(file: string, line: number, character: number): Promise<Completion[]>
  hover(file: string, line: number, character: number): Promise<string>
}

/** Nothing is fetched: schemas are those that the files themselves name. */
const SETTINGS: Record<string, unknown> = {
  yaml: { schemaStore: { enable: false }, validate: true, completion: true, hover: true },
}

/** The real yaml-language-server, over its standard input and output. */
export async function startLanguageServer(t: { after(run: () => unknown): void }): Promise<LanguageServer> {
  const bin = join(ROOT, 'node_modules/yaml-language-server/bin/yaml-language-server')
  const child = spawn(process.execPath, [bin, '--stdio'], { stdio: ['pipe', 'pipe', 'inherit'] })
  t.after(async () => {
    child.kill('SIGKILL')
  })
  const waiting = new Map<number, { resolve(result: unknown): void; reject(error: Error): void }>()
  const published = new Map<string, (found: Diagnostic[]) => void>()
  const write = (message: Message) => {
    const text = JSON.stringify({ jsonrpc: '2.0', ...message })
    child.stdin.write(`Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`)
  }
  child.once('exit', (code) => {
    for (const { reject } of waiting.values()) reject(new Error(`the language server ended: ${code}`))
  })
  readMessages(child, (message) => {
    const { id, method, params, result, error } = message
    if (method === 'textDocument/publishDiagnostics') {
      const { uri, diagnostics } = params as { uri: string; diagnostics: Diagnostic[] }
      published.get(uri)?.(diagnostics)
    } else if (method === 'workspace/configuration') {
      const { items } = params as { items: { section: string }[] }
      write({ id: id!, result: items.map(({ section }) => SETTINGS[section] ?? {}) })
    } else if (method !== undefined && id !== undefined) write({ id, result: null })
    else if (id !== undefined) {
      const asked = waiting.get(id)
      waiting.delete(id)
      if (error) asked?.reject(new Error(error.message))
      else asked?.resolve(result)
    }
  })
  let ids = 0
  const ask = (method: string, params: unknown) =>
    new Promise<unknown>((resolve, reject) => {
      const id = ++ids
      waiting.set(id, { resolve, reject })
      write({ id, method, params })
    })
  const uriOf = (file: string) => pathToFileURL(file).href
  const at = (file: string, line: number, character: number) => ({
    textDocument: { uri: uriOf(file) },
    position: { line, character },
  })

  await ask('initialize', {
    processId: process.pid,
    rootUri: null,
    capabilities: {
      workspace: { configuration: true },
      textDocument: { completion: { completionItem: { snippetSupport: true } } },
    },
  })
  write({ method: 'initialized', params: {} })
  write({ method: 'workspace/didChangeConfiguration', params: { settings: SETTINGS } })

  return {
    open(file, text) {
      const uri = uriOf(file)
      const found = new Promise<Diagnostic[]>((resolve) => published.set(uri, resolve))
      const textDocument = { uri, languageId: 'yaml', version: 1, text }
      write({ method: 'textDocument/didOpen', params: { textDocument } })
      return found
    },
    async complete(file, line, character) {
      const result = await ask('textDocument/completion', at(file, line, character))
      return (result as { items: Completion[] }).items
    },
    async hover(file, line, character) {
      const result = await ask('textDocument/hover', at(file, line, character))
      const contents = (result as { contents: { value: string } } | null)?.contents
      return contents?.value ?? ''
    },
  }
}

/** Splits the output into messages, each behind its Content-Length. */
function readMessages(child: ChildProcess, take: (message: Message) => void): void {
  let rest = Buffer.alloc(0)
  child.stdout!.on('data', (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk])
    for (;;) {
      const end = rest.indexOf('\r\n\r\n')
      const length =
        end < 0 ? undefined : /Content-Length: (\d+)/i.exec(rest.subarray(0, end).toString())?.[1]
      if (length === undefined || rest.length < end + 4 + Number(length)) return
      const text = rest.subarray(end + 4, end + 4 + Number(length)).toString()
      rest = rest.subarray(end + 4 + Number(length))
      take(JSON.parse(text))
    }
  })
}
