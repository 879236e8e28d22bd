import type { Steps } from '../text/index.ts'

/** Steps that all renderings of some work may use together; below zero once exceeded. */
export interface Allowance {
  left: number
}

let current: Allowance | undefined

/** The allowance of the current work; absent: each rendering has only its own limits. */
export function currentAllowance(): Allowance | undefined {
  return current
}

/** The same work; once its renderings exceed the allowance, each further one fails. */
export function* metered<T>(allowance: Allowance, steps: Steps<T>): Steps<T> {
  for (;;) {
    current = allowance
    try {
      const step = steps.next()
      if (step.done) return step.value
    } finally {
      current = undefined
    }
    yield
  }
}
