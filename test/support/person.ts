import { ACCEPT, type Loose } from './wire.ts'

/** What a person answers when it is asked: the result of the elicitation, or `undefined` for no answer. */
export type Person = (question: Loose) => object | undefined

export const ACCEPTS: Person = () => ({ action: 'accept', content: {} })

/**
 * Sends a request in a session whose client asks a person; all messages of the answer. The person's answers go to
 * `answerTo`, if that is given: a load balancer sends them anywhere.
 */
export async function askingPost(
  url: string,
  message: object,
  headers: Record<string, string>,
  person: Person,
  answerTo = url,
): Promise<Loose[]> {
  const post = (to: string, body: object) =>
    fetch(to, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: ACCEPT, ...headers },
      body: JSON.stringify({ jsonrpc: '2.0', ...body }),
    })
  const response = await post(url, message)
  if (!response.headers.get('content-type')?.startsWith('text/event-stream'))
    return [await response.json()] as Loose[]
  const heard: Loose[] = []
  let text = ''
  for await (const piece of response.body!.pipeThrough(new TextDecoderStream())) {
    const events = (text + piece).split('\n\n')
    text = events.pop() ?? ''
    for (const event of events) {
      const data = /^data: (.+)$/m.exec(event)?.[1]
      if (data === undefined) continue
      const said: Loose = JSON.parse(data)
      heard.push(said)
      if (said.method !== 'elicitation/create') continue
      const result = person(said)
      if (result)
        await (await post(answerTo, { id: said.id, ...('error' in result ? result : { result }) })).text()
    }
  }
  return heard
}
