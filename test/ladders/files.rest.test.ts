import { renameSync } from 'node:fs'
import { join } from 'node:path'
import { applied, reloaded, rolledBack, started, version } from './configs.ts'
import { ladder } from './ladder.ts'
import { examples, planted, plantSettings, settle } from './served.ts'

const FILE = { type: 'lowdb', file: 'data/configurations.json' }
const FOLDER = { type: 'directory', path: 'configs' }
const PLANTS = plantSettings({ type: 'lowdb', file: 'data/plants.json' })

ladder({
  name: 'validate',
  seam: 'fs',
  async run(rung) {
    const folder = examples(rung)
    await rung.command(['validate', folder])
    await rung.clean(['validate', folder])
  },
})

ladder({
  name: 'start with stores on disk',
  seam: 'fs',
  run: (rung) => started(rung, { storage: FILE, plants: PLANTS }),
})

ladder({ name: 'plants on disk', seam: 'fs', run: (rung) => planted(rung, PLANTS) })

for (const storage of [FOLDER, FILE])
  ladder({ name: `config apply to a ${storage.type}`, seam: 'fs', run: (rung) => applied(rung, { storage }) })

ladder({ name: 'config rollback', seam: 'fs', run: (rung) => rolledBack(rung, FILE) })

ladder({
  name: 'reload of a folder',
  seam: 'fs',
  async run(rung) {
    const home = await settle(rung, { watch: true })
    const served = version(rung, 1)
    await reloaded(rung, home, ['serve', '-s', home.settings, served], async () => {
      const next = version(rung, 2)
      for (const name of ['east', 'west'])
        renameSync(join(next, `${name}.yaml`), join(served, `${name}.yaml`))
    })
  },
})
