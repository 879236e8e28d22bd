import type { Socket } from 'node:net'
import { type CertificateNames, certificateNames } from './client-certificate.ts'

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

/** @param text of `outerText`, from a worker */
export function decodeClient(text: string): ForwardedConnection {
  return JSON.parse(Buffer.from(text, 'base64url').toString())
}
