import type { Call } from './call.ts'
import type { ListSource } from './listed-tools.ts'

/** Source of the tool list that the client of a call sees. */
export function sourceOf(call: Call): ListSource {
  const { of, among, key, kind } = call.viewer
  const rules = call.context.permissions?.key() ?? ''
  const ask: ListSource['ask'] = (params) => call.inquire('tools/list', params)
  return among.listsAlike
    ? { of, among, viewer: `${kind} ${rules}`, rules, stands: true, ask }
    : { of, among, viewer: key, rules, ask }
}
