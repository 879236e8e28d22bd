// A reporter for node:test that gives a line of JSON for each test that failed, `{file, failed: name}`, or was left
// out, `{file, skipped: reason}`.
export default async function* outcomes(events) {
  for await (const { type, data } of events) {
    if (type === 'test:fail') yield line({ file: data.file, failed: data.name })
    if (type === 'test:pass' && data.skip !== undefined && data.skip !== false) {
      yield line({ file: data.file, skipped: data.skip === true ? 'no reason given' : data.skip })
    }
  }
}

const line = (value) => `${JSON.stringify(value)}\n`
