import { type MemoryReservation, memory } from '../../access/memory.ts'

/** Maximum queued messages; beyond, or without memory, the oldest are dropped. */
const MAX_WAITING = 256

/** Messages queued until their client opens a stream. */
export class Waiting {
  private readonly reservation: MemoryReservation
  private texts: string[] = []
  private dropped = false

  /**
   * @param quotaKey charged for the memory
   * @param onDropped called once, when the first message is dropped
   */
  constructor(
    quotaKey: string,
    private readonly onDropped: () => void,
  ) {
    this.reservation = memory.queue(quotaKey)
  }

  get size(): number {
    return this.texts.length
  }

  push(text: string): void {
    while (this.texts.length >= MAX_WAITING) this.drop()
    while (!this.reservation.add(text.length)) {
      if (!this.texts.length) {
        this.drop()
        return
      }
      this.drop()
    }
    this.texts.push(text)
  }

  includes(text: string): boolean {
    return this.texts.includes(text)
  }

  /** Removes and returns all messages, oldest first. */
  take(): string[] {
    const taken = this.texts
    this.texts = []
    this.reservation.free()
    return taken
  }

  private drop(): void {
    this.reservation.free(this.texts.shift()?.length)
    if (!this.dropped) this.onDropped()
    this.dropped = true
  }
}
