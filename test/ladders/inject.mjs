// Preloaded into the built binary. Counts the operations of one seam, reports each as a line of JSON, and makes the
// k-th fail, hang or return short. Orders come as JSON in PLANTGW_FAULT, as `Orders` of ladder.ts describes them; what is
// reported goes to file descriptor 3, where further orders come from.
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { Socket } from 'node:net'
import { createInterface } from 'node:readline'
import timers from 'node:timers/promises'
import { isMainThread } from 'node:worker_threads'

const orders = JSON.parse(process.env.PLANTGW_FAULT ?? 'null')
// Programs that the gateway starts are not under test.
delete process.env.PLANTGW_FAULT

const REPORT = 3

/** Before a seam wraps it. */
const { writeSync } = fs
/** A hung system call holds its process, a promise that never settles does not. */
let keeper
let count = 0
let armed = false

function report(line) {
  const text = `${JSON.stringify(line)}\n`
  for (let written = false; !written; )
    try {
      writeSync(REPORT, text)
      written = true
    } catch (error) {
      // Orders are read from it too, so it does not block; whoever reads it is slow.
      if (error.code !== 'EAGAIN') throw error
    }
}

function arm() {
  armed = true
  report({ armed })
}

/** What ends the faults of the mode `late`. */
const healing = []

function onHeal(heal) {
  if (orders.mode === 'late') healing.push(heal)
}

/** Orders of a process that meets one fault after another; they end the fault before, and each is answered by a report. */
function takeOrders() {
  const input = new Socket({ fd: REPORT })
  input.unref()
  createInterface({ input }).on('line', (line) => {
    for (const heal of healing.splice(0)) heal()
    Object.assign(orders, JSON.parse(line))
    count = 0
    armed = orders.armed
    report({ obeyed: true, resources: process.getActiveResourcesInfo() })
  })
}

function stackHere() {
  const lines = new Error().stack?.split('\n') ?? []
  return lines.filter((line) => !line.includes('/test/ladders/') && !line.includes('node:')).slice(1, 4)
}

/**
 * Counts one operation.
 * @param {string} name of the operation
 * @param {string} about the path, address or program that it concerns
 * @param {string[]} modes that it can be in
 * @returns {string | undefined} the mode in which the seam shall have it, undefined: as ever
 */
function step(name, about, modes) {
  if (!armed) return undefined
  count++
  const fault = count === orders.k && modes.includes(orders.mode) ? orders.mode : undefined
  report({ n: count, name, about, modes, stack: stackHere(), ...(fault && { fault }) })
  if (fault === 'hang') hang()
  return fault
}

/** One of the codes of errors, which `orders.draw` or k decides. */
function draw(codes) {
  const error = codes[(orders.draw ?? orders.k) % codes.length]
  report({ error })
  return error
}

/** A timer of so many milliseconds is a limit of time. Once something hangs limits pass faster. */
const LIMIT = 1_000
const FASTER = 20
/** Limits that run. */
const limits = []

function hurry(timer) {
  timer._idleTimeout /= FASTER
  if (timer._repeat) timer._repeat /= FASTER
  timer.refresh()
}

function hurryLimits() {
  for (const name of ['setTimeout', 'setInterval']) {
    const original = globalThis[name]
    globalThis[name] = Object.assign((then, ms, ...rest) => {
      const timer = original(then, ms, ...rest)
      if (ms >= LIMIT) {
        if (keeper) hurry(timer)
        else limits.push(new WeakRef(timer))
      }
      return timer
    }, original)
  }
  const pausing = timers.setTimeout
  timers.setTimeout = (ms, ...rest) => pausing(keeper && ms >= LIMIT ? ms / FASTER : ms, ...rest)
  syncBuiltinESMExports()
}

function hang() {
  keeper = setInterval(() => {}, 2 ** 30)
  // A connection or a child holds the process itself.
  if (orders.seam !== 'fs') keeper.unref()
  for (const each of limits.splice(0)) {
    const timer = each.deref()
    if (timer && !timer._destroyed) hurry(timer)
  }
}

function reportUnexpected() {
  process.on('uncaughtExceptionMonitor', (error, origin) =>
    report({ unexpected: String(error?.stack), origin }),
  )
  process.on('unhandledRejection', (error) => {
    report({ unexpected: String(error?.stack ?? error), origin: 'unhandledRejection' })
    if (process.listenerCount('unhandledRejection') === 1) throw error
  })
}

if (orders && isMainThread) {
  reportUnexpected()
  if (orders.mode === 'hang') hurryLimits()
  const { install } = await import(`./seams/${orders.seam}.mjs`)
  await install({ orders, step, draw, onHeal })
  if (orders.many) takeOrders()
  if (orders.armed) arm()
  else process.once('SIGWINCH', arm)
}
