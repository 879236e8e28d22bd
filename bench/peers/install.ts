import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildSync } from 'esbuild'

export interface Node {
  path: string
  /** Such as `24.21.0`. */
  version: string
}

export interface Package {
  folder: string
  version: string
  /** Path of the program that has the package's name. */
  bin: string
}

/** What a run of the suite starts. */
export interface Installed {
  /** What everything in JavaScript runs on but plantgw on another version: Node 24, or that of the suite. */
  node: Node
  /** By major version; absent where npm could not bring it. */
  nodes: Record<number, Node | undefined>
  packages: Record<string, Package | undefined>
  /** The folder of the servers and bare relays of `bench/servers`, each one file for any Node. */
  servers: string
}

const PACKAGES = { supergateway: '4.0.0', 'mcp-proxy': '6.7.19', fastmcp: '4.20.16' }
const SERVERS = ['upstream', 'mcp', 'bare', 'relay']
const MAJORS = [20, 24]

/** The package that holds the binary of Node for this machine. */
const binary = `node-${process.platform}-${process.arch}`

/**
 * Installs with npm into a scratch folder, which stays for the next run.
 * @param isWanted whether a gateway is measured whose name begins like this
 */
export function install(isWanted: (name: string) => boolean): Installed {
  const root = join(tmpdir(), 'plantgw-peers')
  const own = Number(process.versions.node.split('.')[0])
  const nodes: Record<number, Node | undefined> = {
    [own]: { path: process.execPath, version: process.versions.node },
  }
  for (const major of MAJORS) {
    if (nodes[major] || !isWanted(`plantgw, Node ${major}`)) continue
    const found = brought(root, `node-${major}`, binary, String(major))
    if (found) nodes[major] = { path: join(found.folder, 'bin/node'), version: found.version }
  }
  const packages: Installed['packages'] = {}
  for (const [name, version] of Object.entries(PACKAGES))
    if (isWanted(name)) packages[name] = brought(root, name, name, version)
  const servers = join(root, 'servers')
  buildSync({
    entryPoints: SERVERS.map((name) => `bench/servers/${name}.ts`),
    outdir: servers,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    banner: { js: "import { createRequire as r } from 'node:module'; const require = r(import.meta.url)" },
  })
  return { node: nodes[24] ?? nodes[own]!, nodes, packages, servers }
}

function brought(root: string, key: string, name: string, version: string): Package | undefined {
  const at = join(root, `${key}@${version}`)
  const folder = join(at, 'node_modules', name)
  if (!existsSync(join(folder, 'package.json'))) {
    mkdirSync(at, { recursive: true })
    writeFileSync(join(at, 'package.json'), '{"private":true}')
    const flags = ['--silent', '--no-audit', '--no-fund', '--ignore-scripts']
    const { status } = spawnSync('npm', ['install', ...flags, `${name}@${version}`], {
      cwd: at,
      timeout: 120_000,
    })
    if (status !== 0) return undefined
  }
  const found = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const bin = typeof found.bin === 'string' ? found.bin : (found.bin?.[name] ?? '')
  return { folder, version: found.version, bin: join(folder, bin) }
}
