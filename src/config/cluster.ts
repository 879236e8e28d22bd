import type { ClusterSettings } from './model.ts'

// biome-ignore lint/suspicious/noExplicitAny: the schema has checked every field
type Checked = Record<string, any>

export function buildCluster({ secret, advertise }: Checked): ClusterSettings {
  return { secret, advertise: URL.canParse(advertise) ? new URL(advertise).origin : advertise }
}
