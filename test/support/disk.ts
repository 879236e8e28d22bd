import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { createReadStream, createWriteStream } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { TestContext } from 'node:test'

/** A disk of 1 MiB, or why there is none: only root may mount one. */
export async function smallDisk(t: TestContext): Promise<string | undefined> {
  const path = await mkdtemp(join(tmpdir(), 'plantgw-disk-'))
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', path])
  t.after(async () => {
    spawnSync('umount', ['--lazy', path])
    await rm(path, { recursive: true, force: true })
  })
  return status === 0 ? path : undefined
}

/** Takes every block that is left. */
export async function fill(disk: string): Promise<void> {
  const zeros = createReadStream('/dev/zero')
  await assert.rejects(pipeline(zeros, createWriteStream(join(disk, 'ballast'))), { code: 'ENOSPC' })
}
