import type { Socket } from 'node:net'
import { shorten } from '../text/index.ts'
import { type CertificateNames, certificateNames } from './forwarded-connection.ts'
import type { Identity } from './identity.ts'
import type { Step } from './steps.ts'

const known = new WeakMap<Socket, Identity>()

/**
 * Identifies callers by their TLS client certificate, which the listener has verified. Runs before `authentication`,
 * whose credentials take precedence.
 */
export const clientCertificateStep: Step = {
  name: 'client certificate',
  async run(request) {
    const { clientConnection, socket } = request
    const identity = clientConnection
      ? clientConnection.certificate && identityOf(clientConnection.certificate)
      : socket && certificateOwner(socket)
    if (identity) request.identity = identity
    return undefined
  },
}

/** Undefined without a client certificate. */
function certificateOwner(socket: Socket): Identity | undefined {
  const found = known.get(socket)
  if (found) return found
  const names = certificateNames(socket)
  if (!names) return undefined
  const identity = identityOf(names)
  known.set(socket, identity)
  return identity
}

function identityOf({ subject, issuer }: CertificateNames): Identity {
  return {
    caller: JSON.stringify(['certificate', issuer, subject]),
    callerName: shorten(subject, 200),
    subject,
    issuer,
    bySettings: true,
    scopes: new Set(),
    claims: {},
  }
}
