// A reporter for node:test that gives lines of JSON: `{file, skipped: reason}` for each test that was left out,
// `{file, failed: name, why}` for each that failed by itself, and `{file, ms}` for the time of each test that is in no other.
export default async function* outcomes(events) {
  for await (const { type, data } of events) {
    if (type !== 'test:pass' && type !== 'test:fail') continue
    if (data.skip !== undefined && data.skip !== false) {
      yield line({ file: data.file, skipped: data.skip === true ? 'no reason given' : data.skip })
    }
    if (type === 'test:fail' && data.details.error?.failureType !== 'subtestsFailed') {
      const { cause, message } = data.details.error ?? {}
      yield line({
        file: data.file,
        failed: data.name,
        why: cause?.stack ?? cause?.message ?? String(cause ?? message),
      })
    }
    if (data.nesting === 0 && data.file) yield line({ file: data.file, ms: data.details.duration_ms })
  }
}

const line = (value) => `${JSON.stringify(value)}\n`
