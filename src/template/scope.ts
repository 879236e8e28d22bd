/** The visible variables, `$` first. Each declaration has its own slot. */
export class Scope {
  readonly names: string[] = ['$']
  /** By name, innermost last. */
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

  /** Removes all but the first `count`. */
  leave(count: number): void {
    while (this.names.length > count) this.slots.get(this.names.pop()!)!.pop()
  }
}
