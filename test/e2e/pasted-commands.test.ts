import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { freePort, plantgw, temporaryFolder } from '../support/process.ts'

/** The words that a shell makes of a command line. */
const wordsOf = (line: string) =>
  execFileSync('sh', ['-c', `printf '%s\\n' ${line}`], { encoding: 'utf8' }).split('\n')

test('commands that are shown run nothing that an author of a configuration writes as a prefix', async (t) => {
  for (const prefix of ['/a/$(id)', '/a/;id', "/a/'$(id)'", '/a/&id']) {
    const folder = temporaryFolder(t)
    const configuration = {
      name: 'a',
      routers: [{ server: 'a', prefix }],
      servers: [{ name: 'a' }],
      tools: [{ name: 'get_a', description: 'Gets', endpoint: 'http://127.0.0.1:9/' }],
    }
    writeFileSync(join(folder, 'a.yaml'), JSON.stringify(configuration))
    const port = await freePort()
    writeFileSync(join(folder, 'plantgw.yaml'), JSON.stringify({ port }))
    const gateway = plantgw(t, ['serve', 'a.yaml', '--settings', 'plantgw.yaml'], { cwd: folder })
    await gateway.until(/ tools \S+ --settings/)
    const [connect = '', tools = ''] =
      gateway.stdout().match(/(?<=^ {2}node \S+plantgw\.js )(connect|tools) .*/gm) ?? []
    assert.equal(wordsOf(connect)[2], prefix)
    assert.equal(wordsOf(tools)[1], prefix)
    const page = await fetch(`http://127.0.0.1:${port}/_status`, { headers: { accept: 'text/html' } })
    const [, shown = ''] = /<code>plantgw (connect claude-code [^<]*)/.exec(await page.text()) ?? []
    assert.equal(wordsOf(shown.replaceAll('&#39;', "'").replaceAll('&amp;', '&'))[2], prefix)
  }
})
