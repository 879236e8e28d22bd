import { variableName } from '../../config/arguments.ts'
import {
  asksForLogin,
  type Configuration,
  type Env,
  offers,
  ownServers,
  type ReadConfiguration,
  type Server,
} from '../../config/index.ts'
import { limited, MAX_FINDINGS } from '../../config/read.ts'
import { type Finding, type Reporter, toFinding } from '../../findings/index.ts'
import { type Memo, templateMemo, variablesRead } from '../../template/index.ts'
import { atOnce, mapped, type Steps } from '../../text/index.ts'
import { NO_ARGS, otherSubjects, type Subject, toolSubjects } from '../subjects.ts'
import { type Context, checkTemplate } from './template.ts'
import { argumentsRead, checkUsage, meantBy, unusedMessage } from './usage.ts'
import type { Ref, TemplateReporter } from './walk.ts'

/**
 * Finds problems in the templates of a readable configuration: errors for certain failures, warnings for code that may fail.
 * All at once, sorted, each at its place; unambiguous ones have a `fix`. Pure; never throws.
 * @param env for `env` in templates
 * @param memo results of the same run for equal texts
 */
export function lintTemplates(read: ReadConfiguration, env: Env, memo = templateMemo(env)): Finding[] {
  return atOnce(lintSteps(read, env, memo))
}

/** The same, yielding after each template. */
export function* lintSteps(read: ReadConfiguration, env: Env, memo = templateMemo(env)): Steps<Finding[]> {
  const { configuration, file } = read
  if (!configuration) return []
  const findings: Finding[] = []
  const seen = new Set<string>()
  const unset = unsetVariables(read)
  const unsetNames = new Set(unset.values())
  const add = (found: Finding) => {
    const { code, range, message } = found
    if (code === 'template-literal' && unset.has(range?.start.offset ?? -1)) return
    const key = JSON.stringify([code, range?.start.offset, range?.end.offset, message])
    if (!seen.has(key)) findings.push(found)
    seen.add(key)
  }
  const context: Context = { env, memo, config: configReader(env, memo) }
  const reportAt: Reporter = (one) => add(toFinding(one, read))
  const behindLogin = subjectsBehindLogin(configuration)
  const check = (subject: Subject): Ref[] => {
    const report = reporter(read, subject, add)
    const refs = checkTemplate(subject, context, report)
    if (behindLogin(subject)) checkPassthrough(refs, report)
    return refs
  }

  for (const [i, tool] of configuration.tools.entries()) {
    if (findings.length >= MAX_FINDINGS) return limited(findings, file)
    const subjects = toolSubjects(configuration, tool, i)
    checkUsage(subjects, yield* mapped(subjects.subjects, check), unsetNames, reportAt)
  }
  const prompts = configuration.prompts.map((): Ref[] => [])
  for (const subject of otherSubjects(configuration)) {
    const refs = check(subject)
    if (subject.phase === 'config') checkEmpty(subject, env, reportAt)
    if (subject.phase === 'prompt') prompts[subject.path[1] as number]!.push(...refs)
    yield
  }
  checkPrompts(configuration, prompts, reportAt)
  return limited(findings, file)
}

/** Reports at positions of one template. */
function reporter(
  read: ReadConfiguration,
  { path, source }: Subject,
  add: (found: Finding) => void,
): TemplateReporter {
  let reported = 0
  return ({ at: { start, end }, fix, ...one }) => {
    // Further findings are not shown, and locating each takes time.
    if (reported++ > MAX_FINDINGS) return
    const replaced = fix === undefined ? {} : { fix: { was: source.slice(start, end), now: fix } }
    add(toFinding({ ...one, ...replaced, path, start, end }, read))
  }
}

/** A variable of a login that is not set: calls are sent without it, and the API refuses them. */
function checkEmpty({ source, path }: Subject, env: Env, report: Reporter) {
  if (!source.includes('{{')) return
  const unset = variablesRead(source).filter(({ name, preset }) => preset === '' && !env[name])
  for (const name of new Set(unset.map((one) => one.name)))
    report({
      code: 'env-empty',
      path,
      message: `the environment variable ${name} is not set, and its default is an empty text`,
      hint: 'Set it, if the API needs it',
    })
}

function checkPrompts({ prompts }: Configuration, refs: readonly Ref[][], report: Reporter) {
  for (const [i, { arguments: args }] of prompts.entries()) {
    const { names, whole } = argumentsRead(refs[i]!, NO_ARGS)
    const declared = new Set(args.map(({ name }) => name))
    const misspelt = meantBy(
      [...names].filter((name) => !declared.has(name)),
      [...declared],
    )
    for (const [j, { name }] of args.entries()) {
      if (whole || names.has(name) || misspelt.has(name)) continue
      report({
        code: 'template-unused',
        path: ['prompts', i, 'arguments', j, 'name'],
        message: unusedMessage(name),
        hint: 'Use it in a text, or remove it',
      })
    }
  }
}

/** Texts of unset variables such as `${id}`, by position; these are already reported. */
function unsetVariables({ findings, text }: ReadConfiguration): Map<number, string> {
  const told = findings.flatMap(({ code, range }) => (code === 'env-unset' && range ? [range] : []))
  return new Map(
    told.map(({ start, end }) => {
      const written = text.slice(start.offset, end.offset)
      const name = variableName(written)
      return [start.offset, name === undefined ? written : `\${${name}}`]
    }),
  )
}

/** `.Config` of each server at run time, rendered once. */
function configReader(env: Env, memo: Memo): (server: Server) => Record<string, string> {
  const known = new Map<Server, Record<string, string>>()
  const render = (source: string): string => {
    if (!source.includes('{{')) return source
    const { template } = memo.compile(source, { place: 'text', env, roots: {} })
    try {
      return template?.render({}) ?? 'sample'
    } catch {
      // Its faults are reported at their own place.
      return 'sample'
    }
  }
  return (server) => {
    const config =
      known.get(server) ??
      Object.fromEntries(Object.entries(server.config).map(([key, source]) => [key, render(source)]))
    known.set(server, config)
    return config
  }
}

/** Whether a template serves a router that authenticates callers. */
function subjectsBehindLogin(configuration: Configuration): (subject: Subject) => boolean {
  const { routers, servers, tools, mcpServers } = configuration
  const names = new Set(routers.filter(asksForLogin).flatMap((router) => ownServers(router, configuration)))
  const own = servers.filter(({ name }) => names.has(name))
  const isOffered = tools.map(({ name }) => own.some((server) => offers(server, name)))
  const isOwn = servers.map(({ name }) => names.has(name))
  const isProxied = mcpServers.map(({ name }) => names.has(name))
  return ({ path: [kind, index] }) => {
    if (kind === 'tools') return isOffered[index as number] === true
    if (kind === 'servers') return isOwn[index as number] === true
    return kind === 'mcpServers' && isProxied[index as number] === true
  }
}

/** Finds templates that would forward the callers' token for the gateway. */
function checkPassthrough(refs: readonly Ref[], report: TemplateReporter): void {
  for (const ref of refs) {
    const [root, field, header] = ref.path
    if (root === 'Request' && field === 'Headers' && header?.toLowerCase() === 'authorization')
      report({
        code: 'token-passthrough',
        at: ref,
        message: 'the token with which callers log in to the gateway must not be sent on',
        hint: 'Write `credentials` for the server, which may exchange the token for one of the upstream, or send `.Caller.subject` for the name of the caller, or another header of the caller, such as `{{index .Request.Headers "X-Upstream-Authorization"}}`',
      })
  }
}
