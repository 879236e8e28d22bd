export interface ProgressBar {
  show(done: number, total: number, what: string): void
  /** Leaves nothing of it on the screen. */
  clear(): void
}

const WIDTH = 20

/** A bar on the last line of a terminal; nothing elsewhere, nor in CI. */
export function progressBar(
  stream: NodeJS.WriteStream,
  env: Readonly<Record<string, string | undefined>>,
): ProgressBar {
  const shown = stream.isTTY && !env.CI && env.TERM !== 'dumb'
  if (!shown) return { show() {}, clear() {} }
  return {
    show(done, total, what) {
      const filled = Math.round((done / total) * WIDTH)
      const bar = `${'█'.repeat(filled)}${'░'.repeat(WIDTH - filled)} ${done}/${total} `
      const room = Math.max(0, (stream.columns || 80) - bar.length - 1)
      const name = what.replace(/[^\x20-\x7e]/g, '?').slice(0, room)
      stream.write(`\r\x1b[2K${bar}${name}`)
    },
    clear() {
      stream.write('\r\x1b[2K')
    },
  }
}
