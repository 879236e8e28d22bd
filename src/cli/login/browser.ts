import { spawn } from 'node:child_process'

const OPENERS: Partial<Record<NodeJS.Platform, readonly string[]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
}

/** Opens a page in the user's browser if possible; the URL is also printed. */
export function openBrowser({ href }: URL): void {
  const [command = 'xdg-open', ...args] = OPENERS[process.platform] ?? []
  spawn(command, [...args, href], { stdio: 'ignore', detached: true })
    .on('error', () => {})
    .unref()
}
