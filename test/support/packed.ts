import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { ROOT, temporaryFolder } from './process.ts'

/** The packed tarball, unpacked; the dependencies are those that the lockfile has installed here. */
export function unpack(t: TestContext): string {
  const folder = temporaryFolder(t)
  execFileSync('npm', ['pack', '--ignore-scripts', '--silent', '--pack-destination', folder], { cwd: ROOT })
  const [tarball] = readdirSync(folder)
  execFileSync('tar', ['-xzf', tarball!], { cwd: folder })
  const installed = join(folder, 'package')
  symlinkSync(join(ROOT, 'node_modules'), join(installed, 'node_modules'))
  return installed
}

/** Gives a project the `plantgw` command of an unpacked tarball, as npm would. */
export function install(installed: string, project: string): void {
  const bin = join(project, 'node_modules/.bin')
  mkdirSync(bin, { recursive: true })
  symlinkSync(join(installed, 'bin/plantgw.js'), join(bin, 'plantgw'))
}
