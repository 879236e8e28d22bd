// A reporter for node:test that gives one line of JSON for each test that was left out: `{name, reason}`.
export default async function* skipped(events) {
  for await (const { type, data } of events) {
    if (type !== 'test:pass' || data.skip === undefined || data.skip === false) continue
    yield `${JSON.stringify({ name: data.name, reason: data.skip === true ? '' : data.skip })}\n`
  }
}
