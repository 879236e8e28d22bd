/** A plant in the answers to `GET /plants` and `POST /plants`. */
export interface Plant {
  name: string
  tag?: string
}

/** A plant in a request. `id` is any int64. */
export interface NewPlant extends Plant {
  id: bigint
}

/** Access of a caller: `own` covers the plants that `caller` created, `all` covers every plant. */
export interface Access {
  caller: string
  access: 'own' | 'all'
}

/** Maximum plants in one piece or page of a list. */
export const LIST_PIECE = 1000

/** A page of a list. The next page begins after the place `next` in the order of creation; undefined at the end. */
export interface Page {
  plants: Plant[]
  next: bigint | undefined
}

/**
 * A store of plants. A change is durable once its promise resolves, and not visible earlier.
 * Operations reject only with a StoreError.
 */
export interface PlantStore {
  /** Creates a plant. `taken`: a plant of any owner has the id. */
  create(access: Access, plant: NewPlant): Promise<'created' | 'taken'>
  /**
   * The accessible plants in order of creation, in pieces of at most `LIST_PIECE`. Lists each plant that exists
   * throughout once; plants created or deleted meanwhile may be missing.
   */
  list(access: Access): AsyncIterable<readonly Plant[]>
  /**
   * The first accessible plants after a place: at most `limit`, fewer if they are large. A place stays valid after
   * deletions and restarts.
   */
  page(access: Access, limit: number, after: bigint): Promise<Page>
  /** Deletes a plant; false if no accessible plant has the id. */
  delete(access: Access, id: bigint): Promise<boolean>
  /** Refuses new changes, and waits for running ones. May be called twice. */
  close(): Promise<void>
}

export interface PlantSettings {
  /** The operations are at `<basePath>/plants`. */
  basePath: string
  storage: PlantStorage
  tokens: { token: string; caller: string; access: 'own' | 'all' }[]
}

/** Storage of plants: a file (absolute path), or a database (URL with credentials). */
export type PlantStorage = { type: 'lowdb'; file: string } | { type: 'postgres' | 'mysql'; url: string }
