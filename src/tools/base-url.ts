import type { Server } from '../config/model.ts'
import type { Template } from '../template/index.ts'
import { withoutEndSlashes } from '../text/index.ts'
import { readOrigin, readPath, UrlError } from './endpoint.ts'
import type { Root } from './root.ts'
import { beforeCalls, type CompileTemplate, render } from './templates.ts'
import type { Problem } from './types.ts'

/**
 * The `baseUrl` of a server as text, without slashes at its end; faults are added to `problems`. Undefined: there is
 * none, or it is faulty.
 */
export function renderBase(
  { baseUrl }: Pick<Server, 'baseUrl'>,
  path: Problem['path'],
  compile: CompileTemplate,
  config: Root['Config'],
  problems: Problem[],
): string | undefined {
  if (baseUrl === undefined) return undefined
  const at = [...path, 'baseUrl']
  const template = compile(baseUrl, at, 'url', { Config: true })
  const url =
    template &&
    beforeCalls({ path: at, code: 'template-context' }, problems, () =>
      render(template, { Config: config }, 'baseUrl'),
    )
  if (url === undefined) return undefined
  const fault = faultOf(url)
  if (fault === undefined) return withoutEndSlashes(url)
  const hint = 'Write a URL such as https://api.example.com/v1'
  const message = `The \`baseUrl\` ${fault}`
  problems.push({ path: at, code: 'invalid-value', severity: 'error', message, hint })
  return undefined
}

function faultOf(url: string): string | undefined {
  const [origin] = /^https?:\/\/[^/?#\\]*/i.exec(url) ?? []
  if (origin === undefined) return 'is not an absolute http or https URL'
  if (/[?#]/.test(url)) return 'has a query or fragment: paths of endpoints could not be appended to it'
  try {
    readOrigin(origin)
    readPath(url, origin.length)
    return undefined
  } catch (error) {
    if (!(error instanceof UrlError)) throw error
    return error.clause
  }
}

/** The template of a URL from that of a path below `base`. */
export function below(base: string, template: Template): Template {
  const whole = (path: string | undefined) => path && base + path
  const { source, references, constant } = template
  return {
    source,
    references,
    constant: whole(constant),
    render: (data) => whole(template.render(data)),
    renderInTurns: async (data) => whole(await template.renderInTurns(data)),
  }
}
