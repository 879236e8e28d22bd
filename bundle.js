// The last step of the build: the command line as a few files below dist/bin. To load two hundred takes longer than
// most commands run.
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { build } from 'esbuild'

/** Many small files, which every command loads; all other packages stay what npm has installed. */
const INLINED = ['yaml', 'commander', 'chalk', 'diff']
const FOLDER = 'dist/bin'

/** Where `config/thread.ts` looks for them. */
function threads(...modules) {
  return Object.fromEntries(modules.map((module) => [module, `dist/${module}.js`]))
}

const { dependencies, peerDependencies } = JSON.parse(readFileSync('package.json', 'utf8'))
rmSync(FOLDER, { recursive: true, force: true })

/**
 * An import of a built-in module reads everything that it exports, and with `http.WebSocket` loads Node's own undici:
 * 14 MiB on Node 24. What asks for the module itself reads what it uses.
 */
const lazyHttp = {
  name: 'lazy-http',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^node:http$/ }, ({ path }) => ({ path, namespace: 'lazy-http', sideEffects: false }))
    onLoad({ filter: /.*/, namespace: 'lazy-http' }, ({ path }) => ({
      contents: `module.exports = process.getBuiltinModule('${path}')`,
    }))
  },
}
await build({
  entryPoints: { main: 'dist/cli/main.js', ...threads('build/examiner-thread', 'config/loader-thread') },
  outdir: FOLDER,
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.18',
  external: Object.keys({ ...dependencies, ...peerDependencies }).filter((name) => !INLINED.includes(name)),
  plugins: [lazyHttp],
  // Whether there is a terminal is asked by src/cli; to find it out by chalk loads half of what Node has for it.
  alias: { '#supports-color': './node_modules/chalk/source/vendor/supports-color/browser.js' },
  // What is CommonJS asks for modules of Node by it.
  banner: {
    js: "import { createRequire as requireOf } from 'node:module'\nconst require = requireOf(import.meta.url)",
  },
  sourcemap: true,
  sourcesContent: false,
  // V8 keeps the text of what it runs: a quarter of it is spaces.
  minifyWhitespace: true,
  // For stack traces.
  lineLimit: 200,
  logLevel: 'warning',
})
// esbuild leaves regular expressions and the comments of licenses as they are. V8 keeps a text with one such character in twice
// the memory.
for (const name of readdirSync(FOLDER).filter((name) => name.endsWith('.js'))) {
  const text = readFileSync(`${FOLDER}/${name}`, 'utf8')
  const escaped = text.replace(
    /[^\0-\x7f]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  writeFileSync(`${FOLDER}/${name}`, escaped)
}
// What precompile.ts writes is kept as text by whoever loads it.
const VALIDATORS = 'dist/config'
await build({
  entryPoints: readdirSync(VALIDATORS)
    .filter((file) => file.endsWith('.validate.cjs'))
    .map((file) => `${VALIDATORS}/${file}`),
  outdir: VALIDATORS,
  outExtension: { '.js': '.cjs' },
  allowOverwrite: true,
  minify: true,
})
const licenses = INLINED.map((name) => {
  const folder = `node_modules/${name}`
  const license = readdirSync(folder).find((file) => /^licen[cs]e/i.test(file))
  return `${name}\n\n${readFileSync(`${folder}/${license}`, 'utf8')}`
})
writeFileSync(`${FOLDER}/LICENSES.txt`, licenses.join('\n'))
