/**
 * Why a store operation failed. `unreachable`: no connection to the server, or no answer in time, although the change
 * may have been made; `refused`: the server refuses the credentials, or the database does not exist; `locked`: another
 * process writes; `damaged`: not a store of this kind; `full`: no space or quota left; `invalid`: the change cannot be
 * stored; `unsupported`: this kind of store cannot do it; `closed`: after `close`; `failed`: any other reason.
 * The message is for the operator and holds no credentials.
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

/** Converts an error of the file system. */
export function writeError(path: string, error: unknown): StoreError {
  if (error instanceof StoreError) return error
  const { code, message } = error as NodeJS.ErrnoException
  const kind = code === 'ENOSPC' || code === 'EDQUOT' ? 'full' : 'failed'
  return new StoreError(kind, `cannot write ${path}: ${message}`, { cause: error })
}
