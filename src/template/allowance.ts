import type { Steps } from '../text/index.ts'

/** How many steps all renderings of some work may take together; below zero once they wanted more. */
export interface Allowance {
  left: number
}

let current: Allowance | undefined

/** That of the work which is done now; absent: each rendering has its own limits only. */
export function currentAllowance(): Allowance | undefined {
  return current
}

/** The same work; once its renderings have used up the allowance, each further one fails. */
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
