// The last step of the build: the command line as a few files below dist/bin. To load two hundred takes longer than
// most commands run.
import { copyFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { build } from 'esbuild'

/** Many small files, which every command loads; all other packages stay what npm has installed. */
const INLINED = ['js-yaml', 'yaml', 'commander', 'chalk', 'diff', 'fastest-levenshtein', 'semver']
const FOLDER = 'dist/bin'

const { dependencies, peerDependencies } = JSON.parse(readFileSync('package.json', 'utf8'))
rmSync(FOLDER, { recursive: true, force: true })

await build({
  entryPoints: { main: 'dist/cli/main.js' },
  outdir: FOLDER,
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.18',
  external: Object.keys({ ...dependencies, ...peerDependencies }).filter((name) => !INLINED.includes(name)),
  // Whether there is a terminal is asked by src/cli; to find it out by chalk loads half of what Node has for it.
  alias: { '#supports-color': './node_modules/chalk/source/vendor/supports-color/browser.js' },
  // What is CommonJS asks for modules of Node by it.
  banner: {
    js: "import { createRequire as requireOf } from 'node:module'\nconst require = requireOf(import.meta.url)",
  },
  sourcemap: true,
  sourcesContent: false,
  logLevel: 'warning',
})
// Browsers get these as they are.
for (const name of ['browser.css', 'browser.js'])
  copyFileSync(`src/server/console/${name}`, `dist/server/console/${name}`)

writeFileSync(`${FOLDER}/LICENSES.txt`, licensesOf(INLINED))

// Only the page with the editor loads it.
const CONSOLE = 'dist/server/console'
const { metafile } = await build({
  entryPoints: ['src/server/console/editor.js'],
  outdir: CONSOLE,
  bundle: true,
  minify: true,
  format: 'esm',
  target: 'es2022',
  metafile: true,
  logLevel: 'warning',
})
const packages = Object.keys(metafile.inputs).flatMap(
  (file) => /node_modules\/(@[^/]+\/[^/]+|[^/]+)/.exec(file)?.[1] ?? [],
)
writeFileSync(`${CONSOLE}/editor-LICENSES.txt`, licensesOf([...new Set(packages)]))

/** The licences of packages, as their authors ask for in copies. */
function licensesOf(names) {
  const all = names.map((name) => {
    const folder = `node_modules/${name}`
    const license = readdirSync(folder).find((file) => /^licen[cs]e/i.test(file))
    return `${name}\n\n${readFileSync(`${folder}/${license}`, 'utf8')}`
  })
  return all.join('\n')
}
