import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { shorten } from '../text/index.ts'
import type { Identity } from './identity.ts'
import type { Step } from './steps.ts'

/** Characters of a name in the log. */
const MAX_NAME = 200

const known = new WeakMap<Socket, Identity>()

/**
 * Knows callers by the certificate of their connection, which the listener has checked. Stands before `authentication`, whose
 * credentials say more of a caller than that.
 */
export const clientCertificateStep: Step = {
  name: 'client certificate',
  run(request) {
    const identity = request.socket && certificateOwner(request.socket)
    if (!identity) return undefined
    request.caller = identity.caller
    request.callerName = identity.callerName
    request.identity = identity
    return undefined
  },
}

/** Undefined where the other end has shown no certificate. */
function certificateOwner(socket: Socket): Identity | undefined {
  const found = known.get(socket)
  if (found) return found
  if (!(socket instanceof TLSSocket) || !socket.authorized) return undefined
  const certificate = socket.getPeerX509Certificate()
  if (!certificate) return undefined
  // Names of X.500, the attributes on lines of their own; they outlast a renewal.
  const [subject, issuer] = [certificate.subject, certificate.issuer].map((name) =>
    name.replaceAll('\n', ', '),
  )
  const identity: Identity = {
    caller: JSON.stringify(['certificate', issuer, subject]),
    callerName: shorten(subject!, MAX_NAME),
    subject: subject!,
    issuer: issuer!,
    bySettings: true,
    scopes: new Set(),
    claims: {},
  }
  known.set(socket, identity)
  return identity
}
