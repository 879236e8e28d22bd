import type { Reload } from '../build/types.ts'

/** What sees by itself that configurations changed; whoever made it closes it. */
export interface Watch {
  /**
   * Begins. Changes since the watch was made count.
   * @param reload is called when configurations changed; `trigger` says for the log what saw it; it may reject
   */
  start(reload: (trigger: string) => Promise<Reload>): void
  /** May be called without `start`. */
  close(): Promise<void>
}
