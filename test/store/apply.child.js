// Applies one generation of configurations after the other, by the built command line, until it is killed.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { main } from '../../dist/cli/main.js'

const [settings, folder, names, first] = process.argv.slice(2)
for (let generation = Number(first); ; generation++) {
  for (const name of names.split(',')) writeFileSync(join(folder, `${name}.yaml`), text(name, generation))
  process.send({ began: generation })
  const code = await main(['config', 'apply', '-s', settings, '-f', folder, '-m', `${generation}`])
  process.send(code === 0 ? { done: generation } : { failed: code })
}

/** Long enough to take several writes. */
function text(name, generation) {
  return `name: ${name}
routers: [{ server: s, prefix: /${name} }]
servers: [{ name: s, description: generation ${generation} }]
tools: [{ name: hello, description: "${'long '.repeat(4000)}", endpoint: "http://127.0.0.1:9/" }]
x-generation: ${generation}
`
}
