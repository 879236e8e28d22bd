// Runs commands of the built binary one after another: a start of Node takes ten times as long as most commands.
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))
const { main } = await import(`${root}/dist/bin/main.js`)
const real = process.env

process.on('message', async ({ args, cwd, env }) => {
  for (const name of Object.keys(real)) if (!(name in env)) delete real[name]
  Object.assign(real, env)
  // What the product remembers of an environment belongs to this object.
  process.env = { ...env }
  process.argv = [process.execPath, `${root}bin/plantgw.js`, ...args]
  process.chdir(cwd)
  const code = await main(args)
  process.chdir(root)
  // What came of a file of variables is remembered by the product: the next command needs another process.
  const isSpent = Object.keys(process.env).some((name) => !(name in env) && name !== 'PLANTGW_SETTINGS')
  process.send({ code, isSpent })
})
process.on('disconnect', () => process.exit())
