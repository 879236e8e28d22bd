import { callBench } from './call.ts'
import { coldBench } from './cold.ts'
import { consoleBench } from './console.ts'
import { discoveryBench } from './discovery/discovery.ts'
import { lateBench } from './late.ts'
import { lintBench } from './lint.ts'
import { memoryBench } from './memory.ts'
import { peersBench } from './peers/peers.ts'
import { proxyBench } from './proxy.ts'
import { reloadBench } from './reload.ts'
import { shapingBench } from './shaping.ts'
import { soakBench } from './soak.ts'
import { stepsBench } from './steps.ts'
import { tailBench } from './tail.ts'
import { templateBench } from './template.ts'
import { validateBench } from './validate.ts'
import { workersBench } from './workers.ts'

/** `npm run bench [name…]`: every bench, or those named. */
const benches: Record<string, () => Promise<string>> = {
  call: callBench,
  cold: coldBench,
  console: consoleBench,
  discovery: discoveryBench,
  late: lateBench,
  lint: lintBench,
  memory: memoryBench,
  peers: peersBench,
  proxy: proxyBench,
  reload: reloadBench,
  shaping: shapingBench,
  soak: soakBench,
  steps: stepsBench,
  tail: tailBench,
  template: templateBench,
  validate: validateBench,
  workers: workersBench,
}

const names = process.argv.slice(2).length ? process.argv.slice(2) : Object.keys(benches)
for (const name of names) {
  const bench = benches[name]
  if (!bench) throw new Error(`no bench ${name}; there are ${Object.keys(benches).join(', ')}`)
  console.log(`${await bench()}\n`)
}
