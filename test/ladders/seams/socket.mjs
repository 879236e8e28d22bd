// The seam `socket`: connections that the process opens, and those that it takes. `fail` is a refusal or a reset, `hang`
// a peer that is silent for ever, `late` one that goes on once the faults heal, `short` half of the bytes and the end.
import { Server, Socket } from 'node:net'

const MODES = ['fail', 'hang', 'late', 'short']
const HELD = ['hang', 'late']

export function install({ step, draw, onHeal }) {
  const { connect } = Socket.prototype
  Socket.prototype.connect = function (...args) {
    const about = addressOf(args)
    const fault = step('connect', about, MODES)
    faulty(this, about, 'read', 'write')
    if (fault === 'fail') {
      this.connecting = true
      process.nextTick(() => this.destroy(systemError(draw(['ECONNREFUSED', 'ETIMEDOUT']), 'connect')))
      return this
    }
    if (HELD.includes(fault)) {
      this.connecting = true
      onHeal(() => this.destroyed || connect.apply(this, args))
      return this
    }
    if (fault === 'short') this.prependOnceListener('connect', () => this.end().push(null))
    return connect.apply(this, args)
  }

  const { emit } = Server.prototype
  Server.prototype.emit = function (event, ...args) {
    if (event !== 'connection') return emit.call(this, event, ...args)
    const [socket] = args
    const fault = step('accept', 'client', ['fail'])
    // The parser of HTTP reads from the handle itself.
    faulty(socket, 'client', undefined, 'answer')
    if (fault === 'fail') return Boolean(socket.resetAndDestroy())
    return emit.call(this, event, ...args)
  }

  function faulty(socket, about, read, write) {
    if (read) faultyReads(socket, () => step(read, about, MODES), onHeal)
    faultyWrites(socket, () => step(write, about, MODES), onHeal)
  }
}

/** What comes goes through `push`. @param next gives the fault of the next piece */
function faultyReads(socket, next, onHeal) {
  const { push } = socket
  let held
  let ended = false
  socket.push = (chunk, encoding) => {
    if (ended) return true
    if (held) {
      held.push([chunk, encoding])
      return true
    }
    const fault = chunk === null ? undefined : next()
    if (fault === 'fail') {
      ended = true
      socket.destroy(systemError('ECONNRESET', 'read'))
      return false
    }
    if (fault === 'short') {
      ended = true
      push.call(socket, chunk.subarray(0, Math.ceil(chunk.length / 2)), encoding)
      return push.call(socket, null)
    }
    if (HELD.includes(fault)) {
      held = [[chunk, encoding]]
      onHeal(() => {
        const late = held
        held = undefined
        if (!socket.destroyed) for (const each of late) push.apply(socket, each)
      })
      return true
    }
    return push.call(socket, chunk, encoding)
  }
}

/** @param next gives the fault of the next write */
function faultyWrites(socket, next, onHeal) {
  const write = socket._writeGeneric
  socket._writeGeneric = (isMany, data, encoding, done) => {
    const fault = next()
    const go = () => write.call(socket, isMany, data, encoding, done)
    if (fault === 'fail') process.nextTick(done, systemError('EPIPE', 'write'))
    else if (HELD.includes(fault)) onHeal(() => socket.destroyed || go())
    else if (fault === 'short') {
      const bytes = bytesOf(isMany, data, encoding)
      const half = bytes.subarray(0, Math.ceil(bytes.length / 2))
      write.call(socket, false, half, 'buffer', () => done(systemError('ECONNRESET', 'write')))
    } else go()
  }
}

function bytesOf(isMany, data, encoding) {
  const parts = isMany ? data : [{ chunk: data, encoding }]
  return Buffer.concat(
    parts.map(({ chunk, encoding }) => (typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk)),
  )
}

function systemError(code, syscall) {
  return Object.assign(new Error(`${syscall} ${code}`), { code, syscall })
}

/** `net.connect` gives its arguments as one array. */
function addressOf(args) {
  const [options] = Array.isArray(args[0]) ? args[0] : args
  return typeof options === 'object'
    ? `${options.host ?? ''}:${options.port ?? options.path}`
    : String(options)
}
