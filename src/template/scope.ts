/** The variables in sight, `$` first. Each declaration has a slot of its own. */
export class Scope {
  readonly names: string[] = ['$']
  /** By name, the innermost last. */
  private readonly slots = new Map<string, number[]>([['$', [0]]])
  private next = 1

  slotOf(name: string): number | undefined {
    return this.slots.get(name)?.at(-1)
  }

  declare(name: string): number {
    const slot = this.next++
    const known = this.slots.get(name)
    if (known) known.push(slot)
    else this.slots.set(name, [slot])
    this.names.push(name)
    return slot
  }

  /** Forgets all but the first ones. */
  leave(count: number): void {
    while (this.names.length > count) this.slots.get(this.names.pop()!)!.pop()
  }
}
