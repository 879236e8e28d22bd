import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { freePort, ROOT, temporaryFolder } from './process.ts'

/** Why tests of nginx are left out; false where it is installed. */
export const noNginx: string | false = spawnSync('nginx', ['-v']).error ? 'no nginx on this machine' : false

/**
 * Runs nginx in the foreground until the test ends.
 * @param conf the whole configuration; paths of temporary files are added to its `http` block
 * @param url answers with 200 once nginx serves
 */
export async function startNginx(t: TestContext, conf: string, url: string): Promise<void> {
  const folder = temporaryFolder(t)
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `  ${name}_temp_path ${folder}/${name};\n`)
    .join('')
  const file = join(folder, 'nginx.conf')
  const own = conf.replace('http {\n', `http {\n${paths}`)
  writeFileSync(file, `daemon off;\npid ${folder}/nginx.pid;\nerror_log stderr;\n${own}`)
  const child = spawn('nginx', ['-p', folder, '-e', 'stderr', '-c', file], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (part: string) => {
    stderr += part
  })
  const ended = new Promise((resolve) => child.once('close', resolve))
  t.after(async () => {
    child.kill('SIGTERM')
    await ended
  })
  for (;;) {
    assert.equal(child.exitCode, null, stderr)
    const answer = await fetch(url).catch(() => undefined)
    if (answer?.ok) return
  }
}

/** The nginx of the compose file in front of gateways on these two ports; its address. */
export async function shippedNginx(t: TestContext, ports: readonly number[]): Promise<string> {
  const own = await freePort()
  const conf = readFileSync(join(ROOT, 'deploy/compose/nginx.conf'), 'utf8')
    .replace(/gateway-(\d):5235/g, (_, n: string) => `127.0.0.1:${ports[Number(n) - 1]}`)
    .replace('listen 8080', `listen 127.0.0.1:${own}`)
  const base = `http://127.0.0.1:${own}`
  await startNginx(t, conf, `${base}/_ready`)
  return base
}
