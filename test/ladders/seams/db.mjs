// The seam of database and broker drivers: connecting, every write and every read of their sockets, by the server's port.
import { Socket } from 'node:net'

const MODES = ['fail', 'hang', 'short']

export async function install({ orders, step, draw }) {
  const { connect } = Socket.prototype
  const faultOf = (syscall) => {
    const code = draw(
      syscall === 'connect' ? ['ECONNREFUSED', 'ETIMEDOUT'] : ['ECONNRESET', 'EPIPE', 'ETIMEDOUT'],
    )
    return Object.assign(new Error(`${syscall} ${code}`), { code, syscall })
  }

  Socket.prototype.connect = function (...args) {
    // Node's own functions pass what they have normalized.
    const [given, host] = Array.isArray(args[0]) ? args[0] : args
    const { port } = typeof given === 'object' ? given : { port: given, host }
    if (!orders.ports.includes(Number(port))) return connect.apply(this, args)
    const about = `:${port}`
    watch(this, about)
    const fault = step('connect', about, ['fail', 'hang'])
    if (fault === 'fail') process.nextTick(() => this.destroy(faultOf('connect')))
    if (fault) return this
    return connect.apply(this, args)
  }

  /** Cuts, freezes or breaks off half-way what goes through a connection. */
  function watch(socket, about) {
    const { push, _write, _writev } = socket
    let frozen = false

    socket.push = function (chunk, ...rest) {
      if (frozen) return true
      if (chunk === null) return push.call(this, chunk, ...rest)
      const fault = step('read', about, MODES)
      if (fault === 'hang') {
        frozen = true
        return true
      }
      if (fault === 'short') push.call(this, chunk.subarray(0, Math.ceil(chunk.length / 2)), ...rest)
      if (fault) this.destroy(faultOf('read'))
      return fault ? false : push.call(this, chunk, ...rest)
    }

    /** @returns whether the write is done as ever */
    function written(self, half, done) {
      // What is written before there is a connection is written again by the socket itself.
      if (self.connecting) return true
      if (frozen) return false
      const fault = step('write', about, MODES)
      if (fault === 'hang') frozen = true
      if (!fault) return true
      const cut = () => self.destroy(faultOf('write'))
      if (fault === 'fail') done(faultOf('write'))
      if (fault === 'short') half(cut)
      return false
    }

    socket._write = function (chunk, encoding, done) {
      const bytes = typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk
      const half = (cut) => _write.call(this, bytes.subarray(0, Math.ceil(bytes.length / 2)), 'buffer', cut)
      if (written(this, half, done)) _write.call(this, chunk, encoding, done)
    }
    socket._writev = function (chunks, done) {
      const half = (cut) => _writev.call(this, chunks.slice(0, Math.ceil(chunks.length / 2)), cut)
      if (written(this, half, done)) _writev.call(this, chunks, done)
    }
  }
}
