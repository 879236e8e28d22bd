import { shorten } from '../text/index.ts'
import type { Step } from './steps.ts'

const PARAMETER = 'discovery'

/** Reads the tool listing mode from the URL: `discovery=search` or `discovery=list`. */
export const listingStep: Step = {
  name: 'listing',
  async run(request) {
    const given = request.open ? undefined : request.parameter(PARAMETER)
    if (given === undefined) return undefined
    if (given !== 'list' && given !== 'search') {
      const message = `The parameter ${PARAMETER}=${shorten(given, 40)} is unknown: use ${PARAMETER}=search or ${PARAMETER}=list`
      return { status: 400, message }
    }
    request.listing = given
    return undefined
  },
}
