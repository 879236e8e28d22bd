/** Whether a path (decoded, with the base path) belongs to the plant store. */
export function isPlantsPath(basePath: string): (path: string) => boolean {
  const root = `${basePath.replace(/(?<!\/)\/+$/, '')}/plants`
  return (path) => path === root || path.startsWith(`${root}/`)
}
