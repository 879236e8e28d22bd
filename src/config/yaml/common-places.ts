import type { Range } from '../../findings/index.ts'
import { positionsOf } from '../../text/index.ts'
import type { Locate, Path } from '../model.ts'
import type { Place } from './common-scalars.ts'

/**
 * The `locate` of a text that `readCommonYaml` reads, in a tenth of the time that the exact one takes.
 * @param exact knows of parts of scalars, and of block maps and lists
 */
export function commonLocator(text: string, root: Place, exact: () => Locate): Locate {
  const position = positionsOf(text)
  const rangeOf = ([start, end]: readonly [number, number]): Range => ({
    start: position(start),
    end: position(end),
  })
  const at = (path: Path) => path.reduce<Place | undefined>(inside, root)
  const key = (path: Path) => {
    const place = at(path)
    return place && place.key[0] >= 0 ? rangeOf(place.key) : undefined
  }
  const locate = (path: Path, start?: number, end?: number) => {
    const place = at(path)
    if (!place) return undefined
    if (start !== undefined || !place.value) return exact()(path, start, end)
    return rangeOf(place.value)
  }
  return Object.assign(locate, { key, has: (path: Path) => (at(path)?.key[0] ?? -1) >= 0 })
}

function inside(place: Place | undefined, segment: string | number): Place | undefined {
  return place?.items ? place.items[Number(segment)] : place?.members?.get(String(segment))
}
