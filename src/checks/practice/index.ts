import type { Configuration, ReadConfiguration } from '../../config/index.ts'
import { type Finding, sortFindings } from '../../findings/index.ts'
import { quote } from '../../text/index.ts'
import { checkHosts } from './hosts.ts'
import { checkLists } from './lists.ts'
import { checkFileName, checkNames } from './names.ts'
import { adviser } from './report.ts'
import { checkTools } from './tools.ts'

export { secretsIn } from './secrets.ts'

export interface PracticeOptions {
  /** Characters of a description. Default 1,024. */
  descriptionLength?: number
  /** The gateway will listen beyond this machine. Default false. */
  production?: boolean
}

/** What works, and experience advises against; sorted. Secrets apart, which `secretsIn` finds. Never throws. */
export function lintPractice(
  read: ReadConfiguration,
  { descriptionLength = 1024, production = false }: PracticeOptions = {},
): Finding[] {
  const { configuration } = read
  if (!configuration) return []
  const findings: Finding[] = []
  const advise = adviser(read, findings)
  checkFileName(read.file, configuration, advise)
  checkNames(configuration, advise, read.doubtful)
  checkLists(configuration, advise)
  checkTools(configuration, advise, descriptionLength)
  checkHosts(read, configuration, advise)
  if (production) checkAnyOrigin(configuration, advise)
  return sortFindings(findings)
}

function checkAnyOrigin({ routers }: Configuration, advise: ReturnType<typeof adviser>) {
  for (const [i, { cors, auth, prefix }] of routers.entries()) {
    const at = cors?.allowOrigins.indexOf('*') ?? -1
    if (at === -1 || auth?.mode === 'bearer') continue
    const message = `every web site may call the tools of ${quote(prefix)}`
    const hint = 'List the origins of your own pages, or ask for a login by `auth`'
    advise('cors-any-origin', ['routers', i, 'cors', 'allowOrigins', at], message, hint)
  }
}
