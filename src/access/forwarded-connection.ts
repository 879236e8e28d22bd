import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'

/** X.500 names, which survive renewals. */
export interface CertificateNames {
  subject: string
  issuer: string
}

/** Names in the client's certificate; undefined: none. */
export function certificateNames(socket: Socket): CertificateNames | undefined {
  if (!(socket instanceof TLSSocket) || !socket.authorized) return undefined
  const certificate = socket.getPeerX509Certificate()
  if (!certificate) return undefined
  // Attributes are separated by line breaks.
  const { subject, issuer } = certificate
  return { subject: subject.replaceAll('\n', ', '), issuer: issuer.replaceAll('\n', ', ') }
}

/** The client's connection, for a request forwarded by another worker. */
export interface ForwardedConnection {
  /** IP address of its other end. */
  address?: string | undefined
  certificate?: CertificateNames | undefined
  /** Whether it belongs to another gateway, which counts its clients' calls itself. */
  isGateway: boolean
}

/** Encoded as a header value. @param connection the socket, or its description from another worker */
export function encodeClient(
  connection: Socket | ForwardedConnection | undefined,
  isGateway: boolean,
): string {
  const known =
    connection && 'remoteAddress' in connection
      ? { address: connection.remoteAddress, certificate: certificateNames(connection) }
      : connection
  const forwarded: ForwardedConnection = { ...known, isGateway }
  return Buffer.from(JSON.stringify(forwarded)).toString('base64url')
}

/** @param text from a worker */
export function decodeClient(text: string): ForwardedConnection {
  return JSON.parse(Buffer.from(text, 'base64url').toString())
}
