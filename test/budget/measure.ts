import { hostileMessages } from '../fuzz/messages.ts'
import { createRandom } from '../fuzz/random.ts'
import { KNOWN, PREFIXES, type Shape, shapes } from './shapes.ts'
import type { Budget, Measured } from './wire.ts'

/** Measures the known shapes, one in `every` of the others, and so many generated inputs. */
export async function measureAll(
  budget: Budget,
  { every, generated, seed, only }: { every: number; generated: number; seed: number; only?: string },
  each: (measured: Measured) => void,
): Promise<Measured[]> {
  const all: Measured[] = []
  const add = async (shape: Shape) => {
    const measured = await budget.measure(shape)
    all.push(measured)
    each(measured)
  }
  let count = 0
  for (const shape of shapes()) {
    const chosen =
      only === undefined ? count++ % every === 0 || KNOWN.test(shape.name) : shape.name.includes(only)
    if (chosen) await add(shape)
  }
  const prefixes = PREFIXES.map((name) => `/${name}`)
  const say = (prefix: string) => (prefix === '/several' ? 'one__say' : 'say')
  const next = hostileMessages(createRandom(seed), prefixes, say)
  for (let i = 0; i < generated; i++) {
    const { path, body, headers, revision, script } = next()
    await add({
      name: `generated ${i} of seed ${seed}: ${path} ${body.slice(0, 60)}`,
      path,
      body: body.replace('"key":"script"', '"key":"shape"'),
      headers,
      ...(revision && { session: true }),
      ...(script && { script }),
    })
  }
  return all
}
