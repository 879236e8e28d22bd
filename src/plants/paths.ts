import { withoutEndSlashes } from '../text/index.ts'
/** Whether a path (decoded, with the base path) belongs to the plant store. */
export function isPlantsPath(basePath: string): (path: string) => boolean {
  const root = `${withoutEndSlashes(basePath)}/plants`
  return (path) => path === root || path.startsWith(`${root}/`)
}
