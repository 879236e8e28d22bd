/** A session with a server, which may have to make room for another one. */
export interface Occupant {
  /** Whose share of the limits it is; undefined: it is kept for whoever comes. */
  sharer: string | undefined
  /** Milliseconds since the epoch of its last use. */
  used: number
  idle: boolean
  end(): void
}

/** Milliseconds for which a session was not used that makes room for somebody else. */
const GIVES_WAY = 60_000

/**
 * Ends the idle session that was not used for the longest time: one of the newcomer's own, or of somebody who has more
 * than the newcomer, so that nobody can crowd others out. What is in use is never ended.
 * @param all with the newcomer's, which is in use
 * @returns false when there is none
 */
export function makeRoom(all: readonly Occupant[], newcomer: string | undefined, now = Date.now()): boolean {
  const counts = new Map<string | undefined, number>()
  for (const { sharer } of all) counts.set(sharer, (counts.get(sharer) ?? 0) + 1)
  const own = (counts.get(newcomer) ?? 1) - 1
  const gives = ({ sharer, used, idle }: Occupant) =>
    idle &&
    (sharer === undefined ||
      sharer === newcomer ||
      (used <= now - GIVES_WAY && (counts.get(sharer) ?? 0) > own))
  const oldest = all.filter(gives).sort((a, b) => a.used - b.used)[0]
  oldest?.end()
  return oldest !== undefined
}
