import type { Path, ReadConfiguration } from '../config/index.ts'
import { installCommand, type PackageUse } from '../durable/packages.ts'
import type { Finding } from '../findings/index.ts'
import { at, type PlacedSettings } from './pid.ts'

/** Whether the optional packages that settings and notifiers of configurations need are installed here. */
export function packageFindings(
  placed: PlacedSettings | undefined,
  configurations: readonly ReadConfiguration[],
): Finding[] {
  const find = (place: Pick<PlacedSettings, 'file' | 'locate'>, use: string | undefined, path: Path) => {
    const command = isUse(use) ? installCommand(use) : undefined
    if (command === undefined) return []
    const message = `\`${use}\` needs packages that are not installed beside plantgw`
    return [at(place, 'missing-package', path, message, `Run \`${command}\``)]
  }
  const { storage, plants, notifier } = placed?.settings ?? {}
  return [
    ...(placed
      ? [
          ...find(placed, storage?.type, ['storage', 'type']),
          ...find(placed, plants?.storage.type, ['plants', 'storage', 'type']),
          ...find(placed, notifier?.type, ['notifier', 'type']),
        ]
      : []),
    ...configurations.flatMap((read) => find(read, read.configuration?.notifier?.type, ['notifier', 'type'])),
  ]
}

function isUse(type: string | undefined): type is PackageUse {
  return type === 'postgres' || type === 'mysql' || type === 'redis'
}
