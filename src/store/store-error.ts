/**
 * Why a store operation failed. `unreachable`: no connection to the server, or no answer in time; a
 * change may have been made all the same; `refused`: the server refuses the credentials, or has no such database;
 * `locked`: another process writes; `damaged`: not a store of this kind; `full`: no space or quota left; `invalid`: a
 * change that cannot be stored; `unsupported`: not by this kind of store; `closed`; `failed`: anything else.
 * The message is for the operator and holds no credential.
 */
export class StoreError extends Error {
  override name = 'StoreError'
  constructor(
    readonly kind:
      | 'unreachable'
      | 'refused'
      | 'locked'
      | 'damaged'
      | 'full'
      | 'invalid'
      | 'unsupported'
      | 'closed'
      | 'failed',
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options)
  }
}

/** A fault of the file system as the stores report it. */
export function writeError(path: string, error: unknown): StoreError {
  if (error instanceof StoreError) return error
  const { code, message } = error as NodeJS.ErrnoException
  const kind = code === 'ENOSPC' || code === 'EDQUOT' ? 'full' : 'failed'
  return new StoreError(kind, `cannot write ${path}: ${message}`, { cause: error })
}
