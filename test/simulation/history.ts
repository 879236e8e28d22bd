/** Histories: what happens in a world, step by step, and how they are drawn. */
import fc from 'fast-check'
import { CLIENT_KINDS } from './clients.ts'
import { clock } from './clock.ts'
import { SERVER_KINDS } from './servers.ts'
import { type Setting, World } from './world.ts'

/** What a step does to a client, a server or a replica: the one of this number, counted from whatever there is. */
const act = fc.record({
  do: fc.constant('call' as const),
  to: fc.nat(3),
  delay: fc.constantFrom(0, 5, 40, 900, 4_000),
  progress: fc.boolean(),
  log: fc.boolean(),
  asks: fc.boolean(),
  notifies: fc.boolean(),
  end: fc.constantFrom(
    'answer' as const,
    'answer' as const,
    'answer' as const,
    'never' as const,
    'crash' as const,
  ),
})
const simple = fc.record({
  do: fc.constantFrom(
    ...(['connect', 'list', 'subscribe', 'cancel', 'disconnect', 'leave'] as const),
    ...(['crash', 'stop', 'hang', 'come', 'forget', 'cut', 'close', 'change'] as const),
    ...(['freeze', 'thaw', 'kill', 'start', 'drain'] as const),
    ...(['replace', 'remove', 'same', 'clock'] as const),
  ),
  to: fc.nat(3),
})
const step = fc.record({
  after: fc.constantFrom(0, 0, 1, 7, 30, 200, 1_500, 6_000),
  what: fc.oneof({ weight: 3, arbitrary: act }, { weight: 4, arbitrary: simple }),
})
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

export interface History {
  setting: Setting
  steps: readonly Step[]
}

const setting: fc.Arbitrary<Setting> = fc.record({
  seed: fc.nat(),
  shape: fc.constantFrom(...SERVER_KINDS, 'several' as const, 'shared' as const),
  replicas: fc.constantFrom(1, 2),
  authenticated: fc.boolean(),
  clients: fc.array(
    fc.record({
      kind: fc.constantFrom(...CLIENT_KINDS),
      listens: fc.boolean(),
      answers: fc.constantFrom(true, true, true, true, false),
    }),
    { minLength: 1, maxLength: 3 },
  ),
})

export const history: fc.Arbitrary<History> = fc.record({ setting, steps: fc.array(step, { maxLength: 16 }) })

export interface Run {
  violations: readonly string[]
  /** What happened, line by line. */
  story: readonly string[]
}

/** @param prepare changes the world before it begins, to see that what it breaks is found */
export async function run(
  { setting, steps }: History,
  prepare: (world: World) => void = () => {},
): Promise<Run> {
  const world = new World(setting)
  prepare(world)
  await world.start()
  for (const { after, what } of steps) {
    await clock.pass(after)
    take(world, what)
  }
  await clock.pass(1_000)
  await world.heal()
  await world.checkServed()
  await world.end()
  return { violations: world.violations, story: world.story }
}

function take(world: World, what: Step['what']): void {
  const { clients, servers, replicas } = world
  const of = <T>(all: readonly T[]) => all[what.to % all.length] as T
  const [client, server, replica] = [of(clients), of(servers), of(replicas)]
  if (what.do === 'call') {
    const { do: _, to: __, ...script } = what
    const call = async () => {
      if (await client.connect()) await client.call({ mark: world.mark(client), ...script })
    }
    call().catch((error) => world.violated(`a client fell: ${error.stack}`))
    return
  }
  world.note(`step: ${what.do} ${what.to}`)
  const acts: Record<typeof what.do, () => unknown> = {
    connect: () => client.connect(),
    list: () => client.isConnected && client.request('tools/list'),
    subscribe: () => client.subscribe(),
    cancel: () => client.cancel(),
    disconnect: () => client.disconnect(),
    leave: () => client.leave(),
    crash: () => server.crash(),
    stop: () => server.stop(),
    hang: () => server.hang(),
    come: () => server.come(),
    forget: () => server.forget(),
    cut: () => server.cutStreams(false),
    close: () => server.cutStreams(true),
    change: () => server.changed(),
    freeze: () => replica.host.freeze(),
    thaw: () => replica.host.thaw(),
    kill: () => replica.kill(),
    start: () => replica.gateway ?? replica.start(),
    drain: () => replica.drain(),
    replace: () => world.reload('replace'),
    remove: () => world.reload('remove'),
    same: () => world.reload('same'),
    clock: () => {
      clock.set += what.to % 2 ? 7_200_000 : -7_200_000
    },
  }
  Promise.resolve(acts[what.do]()).catch((error) => world.violated(`${what.do} failed: ${error?.stack}`))
}
