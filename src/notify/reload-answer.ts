/** Result of a notification. */
export interface Notified {
  /** One line of text. */
  line: string
  /** The configurations that a gateway refused, or its first error. */
  fault?: string
}

/** The report of a gateway about a reload. */
export interface ReloadAnswer {
  /** Generation that the gateway serves now; absent if the reload failed as a whole. */
  generation?: number
  added?: readonly string[]
  changed?: readonly string[]
  removed?: readonly string[]
  refused?: readonly string[]
  findings?: readonly { severity?: string; file?: string; message?: string }[]
}

/**
 * Describes a reload.
 * @param how the notification, such as `sent SIGHUP to process 7`
 * @param about names of the configurations to report on; absent: all. Others may belong to another tenant
 */
export function reloadText(how: string, answer: ReloadAnswer, about?: ReadonlySet<string>): Notified {
  const { generation, refused = [], findings = [], ...changes } = answer
  const mine = (names: readonly string[] = []) => names.filter((one) => about?.has(one) ?? true)
  const told = (['added', 'changed', 'removed'] as const)
    .filter((kind) => mine(changes[kind]).length)
    .map((kind) => `${kind} ${mine(changes[kind]).join(', ')}`)
  const line = `${how}: generation ${generation}, ${told.join('; ') || 'nothing changed'}`
  const errors = findings.filter(({ severity }) => severity === 'error')
  if (mine(refused).length) {
    // Findings may belong to another tenant's configurations.
    const said = about ? [] : errors.map(({ file, message }) => `\n${file}: ${message}`)
    return { line, fault: `it refused ${mine(refused).join(', ')}: see its log${said.join('')}` }
  }
  // Errors may belong to refused configurations of another tenant.
  const error = refused.length ? undefined : errors[0]
  return { line, ...(error && { fault: `${error.file}: ${error.message}` }) }
}
