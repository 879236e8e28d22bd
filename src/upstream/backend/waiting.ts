import { memory } from '../../access/memory.ts'

/** Messages that wait for a stream of their client; when they are too many or too much the oldest give way. */
export interface Waiting {
  push(text: string): void
  /** Gives all, the oldest first, and keeps none. */
  take(): string[]
}

const MAX_WAITING = 256

/**
 * @param sharer whose share of the memory it takes
 * @param onDropped runs once, when the first message is lost
 */
export function createWaiting(sharer: string, onDropped: () => void): Waiting {
  const hold = memory.queue(sharer)
  let texts: string[] = []
  let told = false

  function drop(): void {
    hold.free(texts.shift()?.length)
    if (!told) onDropped()
    told = true
  }

  return {
    push(text) {
      while (texts.length >= MAX_WAITING) drop()
      while (!hold.add(text.length)) {
        if (!texts.length) return drop()
        drop()
      }
      texts.push(text)
    },
    take() {
      const taken = texts
      texts = []
      hold.free()
      return taken
    },
  }
}
