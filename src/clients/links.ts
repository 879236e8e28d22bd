import type { Endpoint } from './bridge.ts'
import { CLIENT_NAMES, clientOf } from './clients.ts'
import { newFile } from './new-file.ts'

/** Addresses that open a client, which then asks whether to add the server. */
export function deepLinks(endpoint: Endpoint): { label: string; href: string }[] {
  const { name } = endpoint
  const cursor = clientOf('cursor').entry(endpoint, process.platform)
  const vscode = { name, ...clientOf('vscode').entry(endpoint, process.platform) }
  const inputs = clientOf('vscode').inputs?.(endpoint) ?? []
  const config = encodeURIComponent(Buffer.from(JSON.stringify(cursor)).toString('base64'))
  const server = encodeURIComponent(JSON.stringify({ ...vscode, ...(inputs.length > 0 && { inputs }) }))
  return [
    {
      label: clientOf('cursor').label,
      href: `cursor://anysphere.cursor-deeplink/mcp/install?name=${encodeURIComponent(name)}&config=${config}`,
    },
    { label: clientOf('vscode').label, href: `vscode:mcp/install?${server}` },
  ]
}

/** For each client a file that has only this server. */
export function snippetsOf(endpoint: Endpoint, platform: NodeJS.Platform): { label: string; text: string }[] {
  return CLIENT_NAMES.map((name) => ({
    label: clientOf(name).label,
    text: newFile(clientOf(name), [endpoint], platform),
  }))
}
