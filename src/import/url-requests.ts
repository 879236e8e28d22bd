import type { Json } from '../json/index.ts'
import { literal } from '../template/index.ts'
import type { ExampleBody, ExampleRequest, Parameter } from './logins.ts'
import { grouped, jsonOf, openPath } from './requests.ts'

/**
 * An example of a request to a URL.
 * @returns undefined for a URL other than HTTP
 */
export function requestTo(
  url: string,
  { method, headers, body, login }: Pick<ExampleRequest, 'method' | 'headers' | 'body' | 'login'>,
): ExampleRequest | undefined {
  if (!URL.canParse(url)) return undefined
  const { protocol, origin, pathname, searchParams, username, password } = new URL(url)
  if (protocol !== 'http:' && protocol !== 'https:') return undefined
  const { path, examples } = openPath(pathname.replace(/[{}]/g, encodeURIComponent))
  return {
    name: body?.form === 'graphql' ? (body.operation ?? '') : '',
    description: '',
    tags: [],
    method,
    origin,
    path,
    query: pairsOf(searchParams),
    headers: headers.map((one) => ({ ...one, value: literal(one.value) })),
    pathExamples: examples,
    body,
    login: login ?? (username === '' ? undefined : { type: 'basic', value: `${username}:${password}` }),
  }
}

/** A sent body by its type; undefined if empty. */
export function bodyFrom(text: string, type: string): ExampleBody | undefined {
  const media = type.split(';')[0]!.trim().toLowerCase()
  if (text.trim() === '') return undefined
  const isJson = /\bjson$/.test(media) || (media === '' && /^\s*[{[]/.test(text))
  const value = isJson && text.length <= 256 * 1024 ? jsonOf(text) : undefined
  if (value !== undefined) {
    const { query, variables, operationName } = (value ?? {}) as { [key: string]: Json }
    if (typeof query === 'string' && /^\s*(?:query|mutation|subscription|fragment|\{)/.test(query))
      return {
        form: 'graphql',
        query,
        ...(typeof operationName === 'string' && { operation: operationName }),
        variables:
          typeof variables === 'object' && !Array.isArray(variables) && variables !== null
            ? (variables as { [key: string]: Json })
            : {},
      }
    return { form: 'json', value, ...(/\+json$/.test(media) && { type: media }) }
  }
  if (media === 'application/x-www-form-urlencoded' || (media === '' && /^[\w.%[\]+-]+=/.test(text)))
    return { form: 'urlencoded', fields: fieldsOf(text.slice(0, 256 * 1024)) }
  // Incomplete JSON says nothing about its form.
  if (isJson) return { form: 'json', value: null, ...(/\+json$/.test(media) && { type: media }) }
  return { form: 'text', type: media || 'text/plain' }
}

export function fieldsOf(text: string): Parameter[] {
  return pairsOf(new URLSearchParams(text)).filter(({ name }) => name !== '')
}

export function pairsOf(pairs: URLSearchParams): Parameter[] {
  return grouped([...pairs].map(([name, value]) => ({ name, value })))
}
