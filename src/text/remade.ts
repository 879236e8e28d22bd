/**
 * What can be made again: it is kept while there is memory for it, and made when somebody asks after it was let go.
 * @param made what `make` would make now; absent: nothing was made yet
 */
export function remade<T extends object>(make: () => T, made?: T): () => T {
  let kept = made && new WeakRef(made)
  return () => {
    const known = kept?.deref()
    if (known) return known
    const again = make()
    kept = new WeakRef(again)
    return again
  }
}
