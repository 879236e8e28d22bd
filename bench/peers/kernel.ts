import { readdirSync, readFileSync } from 'node:fs'
import { processorTime } from '../process.ts'

export interface ProcessEntry {
  pid: number
  parent: number
  /** Seconds of CPU of all its threads. */
  cpu: number
  /** Its arguments, separated by spaces. */
  command: string
}

/** @param stat text of `/proc/PID/stat` @param cmdline text of `/proc/PID/cmdline` */
export function processEntry(pid: number, stat: string, cmdline: string): ProcessEntry {
  const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
  return { pid, parent, cpu: processorTime(stat), command: cmdline.split('\0').join(' ').trim() }
}

/** A process and what it started, without a process that has `excluded` in its command and what that one started. */
export function family(all: readonly ProcessEntry[], root: number, excluded: string): ProcessEntry[] {
  const members = all.filter(({ pid }) => pid === root)
  for (let i = 0; i < members.length; i++) {
    const { pid } = members[i]!
    members.push(...all.filter(({ parent, command }) => parent === pid && !command.includes(excluded)))
  }
  return members
}

function entries(): ProcessEntry[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return []
    try {
      const read = (file: string) => readFileSync(`/proc/${name}/${file}`, 'latin1')
      return [processEntry(Number(name), read('stat'), read('cmdline'))]
    } catch {
      return [] // It has ended meanwhile.
    }
  })
}

/** What a gateway and its workers have used: seconds of CPU, and MiB that are resident. @param memoryOf a process, MiB */
export function usage(
  root: number,
  excluded: string,
  memoryOf = residentMiB,
): { cpu: number; resident: number } {
  let cpu = 0
  let resident = 0
  for (const entry of family(entries(), root, excluded)) {
    cpu += entry.cpu
    resident += memoryOf(entry.pid)
  }
  return { cpu, resident }
}

/** MiB, 0 for a process that has ended. */
export function residentMiB(pid: number): number {
  return mebibytes(`/proc/${pid}/status`, /^VmRSS:\s+(\d+)/m)
}

/** The same, of which what processes share counts for each in part. */
export function proportionalMiB(pid: number): number {
  return mebibytes(`/proc/${pid}/smaps_rollup`, /^Pss:\s+(\d+)/m)
}

function mebibytes(file: string, kibibytes: RegExp): number {
  try {
    return Number(kibibytes.exec(readFileSync(file, 'latin1'))?.[1] ?? 0) / 1024
  } catch {
    return 0
  }
}
