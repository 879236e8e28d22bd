/** A plant, as returned by `GET /plants` and `POST /plants`. */
export interface Plant {
  name: string
  tag?: string
}

/** A plant as it is given; `id` is any int64. */
export interface NewPlant extends Plant {
  id: bigint
}

/** The requester's access: `own` reaches the plants that `caller` created, `all` reaches every plant. */
export interface Access {
  caller: string
  access: 'own' | 'all'
}

/** Maximum plants in one piece or page of a list. */
export const LIST_PIECE = 1000

/** A part of a list. `next` is the place in the order of creation after which there are more plants. */
export interface Page {
  plants: Plant[]
  next: bigint | undefined
}

/**
 * Where plants live. A promise that resolves says that the change is durable; none is visible before that.
 * Every operation rejects with a StoreError only.
 */
export interface PlantStore {
  /** Ids are unique over the whole store, for plants of every owner. */
  create(access: Access, plant: NewPlant): Promise<'created' | 'taken'>
  /**
   * The plants within reach in order of creation, in pieces of at most `LIST_PIECE`. A plant that is there all the while is
   * listed once; one that is deleted meanwhile may be left out, and the list ends although plants are being created.
   */
  list(access: Access): AsyncIterable<readonly Plant[]>
  /**
   * The first plants within reach after a place, at most `limit`, fewer if they are large. A place stays valid when
   * plants are deleted, and over restarts.
   */
  page(access: Access, limit: number, after: bigint): Promise<Page>
  /** False when no plant within reach has the id. */
  delete(access: Access, id: bigint): Promise<boolean>
  /** Finishes running changes, then refuses new ones. May be called twice. */
  close(): Promise<void>
}

export interface PlantSettings {
  /** The operations are at `<basePath>/plants`. */
  basePath: string
  storage: PlantStorage
  tokens: { token: string; caller: string; access: 'own' | 'all' }[]
}

/** Where plants are kept: a file (absolute path), or a database on a server (URL with credentials). */
export type PlantStorage = { type: 'lowdb'; file: string } | { type: 'postgres' | 'mysql'; url: string }
