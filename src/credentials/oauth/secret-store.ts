/** Sealed texts by id, apart from the configurations. Operations reject with a StoreError only. */
export interface SecretStore {
  /** Says which store it is; never a credential. */
  label: string
  get(id: string): Promise<string | undefined>
  ids(): Promise<string[]>
  /**
   * Works on one text while no other process does.
   * @param work gets the text; `write` replaces it, or removes it if undefined, and resolves once that is durable
   */
  change<T>(id: string, work: (text: string | undefined, write: Write) => Promise<T>): Promise<T>
  close(): Promise<void>
}

type Write = (text: string | undefined) => Promise<void>
