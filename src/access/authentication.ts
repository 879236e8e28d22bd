import type { Identity, Refusal, Step, StepRequest } from './steps.ts'

/** Identifies the caller, on routes that require it. */
export const authenticationStep: Step = {
  name: 'authentication',
  run(request) {
    const { authenticate } = request.route
    if (!authenticate || request.open) return undefined
    const result = authenticate(request)
    return result instanceof Promise
      ? result.then((awaited) => admit(request, awaited))
      : admit(request, result)
  },
}

function admit(request: StepRequest, result: Identity | Refusal): Refusal | undefined {
  if ('status' in result) return result
  request.caller = result.caller
  return undefined
}
