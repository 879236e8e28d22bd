/** The path of a request's target (RFC 9112, 3.2.1), without the query. */
export function pathOf(target: string): string {
  const query = target.indexOf('?')
  return query < 0 ? target : target.slice(0, query)
}
