// The seam `child`: starts of programs, what is written to them, and what they print. `fail` is a start that the system
// refuses, a pipe that is closed, or a child that ends before its message came; `last` a child that ends after it;
// `hang` a child that is silent for ever, `late` one that goes on once the faults heal; `short` one that ends at once, or
// half of what was written.
import child_process, { ChildProcess } from 'node:child_process'
import { syncBuiltinESMExports } from 'node:module'

const HELD = ['hang', 'late']
/** As libuv gives them. */
const ERRNO = { ENOENT: -2, EAGAIN: -11, ENFILE: -23, EMFILE: -24 }

export function install({ step, draw, onHeal }) {
  let fault
  const Process = Object.getPrototypeOf(new ChildProcess()._handle)
  const start = Process.spawn
  Process.spawn = function (options) {
    if (fault !== 'fail') return start.call(this, options)
    const code = draw(Object.keys(ERRNO))
    // Where the program was not found, its pipes are open; where files are short, there is nothing.
    if (!code.endsWith('FILE')) start.call(this, { ...options, file: '/nonexistent/program' })
    return ERRNO[code]
  }

  const { spawn } = child_process
  child_process.spawn = (...args) => {
    // It guards the groups of children, and nothing is asked of it while the process lives.
    if (args[0] === '/bin/sh') return spawn(...args)
    fault = step('spawn', String(args[0]), ['fail', 'hang', 'late', 'short'])
    const child = spawn(...args)
    const mode = fault
    fault = undefined
    if (child.pid === undefined) return child
    const { pid } = child
    if (mode === 'short') child.kill('SIGKILL')
    if (HELD.includes(mode)) {
      process.kill(pid, 'SIGSTOP')
      onHeal(() => child.exitCode === null && child.signalCode === null && process.kill(pid, 'SIGCONT'))
    }
    faultyInput(child, step, onHeal)
    faultyOutput(child, step, onHeal)
    return child
  }
  syncBuiltinESMExports()
}

function faultyInput(child, step, onHeal) {
  const { stdin } = child
  const write = stdin._writeGeneric
  stdin._writeGeneric = (isMany, data, encoding, done) => {
    const fault = step('stdin', '', ['fail', 'hang', 'late', 'short'])
    const go = () => write.call(stdin, isMany, data, encoding, done)
    const broken = () => done(Object.assign(new Error('write EPIPE'), { code: 'EPIPE', syscall: 'write' }))
    if (fault === 'fail') process.nextTick(broken)
    else if (HELD.includes(fault)) {
      child.once('exit', () => stdin.destroyed || broken())
      onHeal(() => stdin.destroyed || go())
    } else if (fault === 'short' && !isMany) {
      const bytes = Buffer.from(data, encoding === 'buffer' ? undefined : encoding)
      write.call(stdin, false, bytes.subarray(0, Math.ceil(bytes.length / 2)), 'buffer', broken)
    } else go()
  }
}

function faultyOutput(child, step, onHeal) {
  const { stdout } = child
  const { push } = stdout
  let held
  let ended = false
  const end = () => {
    ended = true
    return push.call(stdout, null)
  }
  stdout.push = (chunk, encoding) => {
    if (ended) return true
    // Nothing comes of a child that has ended.
    if (chunk === null) return end()
    if (held) {
      held.push([chunk, encoding])
      return true
    }
    const fault = step('stdout', '', ['fail', 'last', 'hang', 'late', 'short'])
    if (HELD.includes(fault)) {
      held = [[chunk, encoding]]
      onHeal(() => {
        const late = held
        held = undefined
        if (!ended) for (const each of late) push.apply(stdout, each)
      })
      return true
    }
    if (fault === 'fail' || fault === 'last') child.kill('SIGKILL')
    if (fault === 'fail') return end()
    if (fault === 'short') {
      push.call(stdout, chunk.subarray(0, Math.ceil(chunk.length / 2)), encoding)
      return end()
    }
    return push.call(stdout, chunk, encoding)
  }
}
