import assert from 'node:assert/strict'
import { test } from 'node:test'
import { messages, open, proxied, send } from './harness.ts'
import { stateful } from './stateful.ts'

for (const era of ['session', 'modern'] as const)
  test(`the answer of a ${era} stdio server to a dropped POST comes on the stream that is resumed`, {
    timeout: 60_000,
  }, async (t) => {
    const { url } = await proxied(t, [stateful(era)])
    const client = await open(url)
    const calls = ['first', 'second'].map(async (about, i) => {
      const gone = new AbortController()
      const params = { name: 'hold', arguments: { about }, _meta: { progressToken: i } }
      const response = await send(
        url,
        { id: `call ${i}`, method: 'tools/call', params },
        client.headers,
        gone.signal,
      )
      // It is slow, so there is an id before the answer.
      assert.equal(response.headers.get('content-type'), 'text/event-stream')
      let text = ''
      for (const reader = response.body!.getReader(); !/^id: .*$/m.test(text); )
        text += new TextDecoder().decode((await reader.read()).value)
      gone.abort()
      return /^id: (.*)$/m.exec(text)![1]!
    })
    const resume = (id: string) =>
      fetch(url, { headers: { ...client.headers, accept: 'text/event-stream', 'last-event-id': id } })
    const ids = await Promise.all(calls)
    const before = resume(ids[0]!)
    await before
    // Releases both.
    assert.ok((await client.request('tools/list')).result)
    const [first] = (await messages(await before)).slice(-1)
    const [progress, second] = (await messages(await resume(ids[1]!))).slice(-2)
    assert.equal(first.id, 'call 0')
    assert.match(first.result.content[0].text, /#first$/)
    assert.equal(progress?.params.progressToken, 1, 'it comes before the answer, not on another stream')
    assert.equal(second.id, 'call 1')
    assert.match(second.result.content[0].text, /#second$/)
  })
