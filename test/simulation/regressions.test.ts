import './clock.ts'
import './chance.ts'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type History, run } from './history.ts'

/** A call that a server answers at once. */
const CALL = {
  do: 'call',
  delay: 0,
  progress: false,
  log: false,
  asks: false,
  notifies: false,
  end: 'answer',
} as const

/** Histories in which something once went wrong, cut down to what it took. */
const CASES: Record<string, History> = {
  'a server that ends while it is being probed is not started again': {
    setting: {
      seed: 0,
      shape: 'shared',
      replicas: 1,
      authenticated: false,
      clients: [{ kind: 'session', listens: false, answers: true }],
    },
    steps: [
      { after: 0, what: { ...CALL, to: 0 } },
      { after: 0, what: { do: 'kill', to: 0 } },
    ],
  },
  'an error names no answer to a question as its request': {
    setting: {
      seed: 487169002,
      shape: 'stdio',
      replicas: 2,
      authenticated: false,
      clients: [{ kind: 'session', listens: false, answers: true }],
    },
    steps: [
      { after: 0, what: { ...CALL, to: 0, delay: 4000, asks: true } },
      { after: 0, what: { do: 'drain', to: 1 } },
    ],
  },
  'one of several servers that falls silent within its answer is given up': {
    setting: {
      seed: 0,
      shape: 'several',
      replicas: 1,
      authenticated: false,
      clients: [{ kind: 'stateless', listens: false, answers: true }],
    },
    steps: [
      { after: 0, what: { ...CALL, to: 0 } },
      { after: 0, what: { ...CALL, to: 0, log: true, end: 'never' } },
    ],
  },
  'a subscription that is being replaced ends with its session': {
    setting: {
      seed: 2,
      shape: 'modern-stdio',
      replicas: 1,
      authenticated: false,
      clients: [{ kind: 'session', listens: false, answers: true }],
    },
    steps: [
      { after: 0, what: { ...CALL, to: 0 } },
      { after: 200, what: { do: 'hang', to: 0 } },
      { after: 0, what: { do: 'subscribe', to: 0 } },
      { after: 0, what: { do: 'kill', to: 0 } },
    ],
  },
  'what is asked for a call that timed out is not asked of another client': {
    setting: {
      seed: 7,
      shape: 'shared',
      replicas: 1,
      authenticated: false,
      clients: [
        { kind: 'session', listens: true, answers: true },
        { kind: 'session', listens: false, answers: false },
      ],
    },
    steps: [
      { after: 0, what: { ...CALL, to: 0, end: 'never' } },
      { after: 30, what: { ...CALL, to: 3, delay: 5, asks: true } },
    ],
  },
  'what is asked for a cancelled call is not asked for the next one': {
    setting: {
      seed: 2,
      shape: 'sse',
      replicas: 1,
      authenticated: true,
      clients: [{ kind: 'stateless', listens: false, answers: true }],
    },
    steps: [
      { after: 0, what: { ...CALL, to: 0, asks: true } },
      { after: 200, what: { do: 'disconnect', to: 0 } },
      { after: 0, what: { ...CALL, to: 0 } },
    ],
  },
  'nothing begins in a session that ended while its backend was being changed': {
    setting: {
      seed: 2,
      shape: 'several',
      replicas: 1,
      authenticated: false,
      clients: [{ kind: 'session', listens: false, answers: true }],
    },
    steps: [
      { after: 0, what: { ...CALL, to: 0 } },
      { after: 6000, what: { ...CALL, to: 0 } },
      { after: 0, what: { do: 'hang', to: 2 } },
      { after: 0, what: { do: 'remove', to: 0 } },
    ],
  },
  'no message waits for a client whose session has ended': {
    setting: {
      seed: 0,
      shape: 'sse',
      replicas: 1,
      authenticated: false,
      clients: [{ kind: 'session', listens: false, answers: true }],
    },
    steps: [
      { after: 0, what: { ...CALL, to: 0, end: 'crash' } },
      { after: 0, what: { do: 'replace', to: 0 } },
      { after: 1500, what: { do: 'connect', to: 0 } },
      { after: 0, what: { do: 'remove', to: 0 } },
      { after: 0, what: { do: 'change', to: 0 } },
    ],
  },
  'a subscription that opens during a reload ends with what it subscribes to': {
    setting: {
      seed: 1113499286,
      shape: 'several',
      replicas: 2,
      authenticated: false,
      clients: [
        { kind: 'session', listens: false, answers: true },
        { kind: 'session', listens: false, answers: true },
        { kind: 'stateless', listens: true, answers: true },
      ],
    },
    steps: [
      { after: 0, what: { ...CALL, to: 0 } },
      { after: 0, what: { ...CALL, to: 2 } },
      { after: 30, what: { ...CALL, to: 1 } },
      { after: 7, what: { ...CALL, to: 0 } },
      { after: 0, what: { do: 'replace', to: 0 } },
    ],
  },
  'a message whose session ends while its body is on its way': {
    setting: {
      seed: 2_134_100_343,
      shape: 'several',
      replicas: 2,
      authenticated: false,
      clients: [
        { kind: 'sse', listens: false, answers: true },
        { kind: 'session', listens: false, answers: true },
      ],
    },
    steps: [
      { after: 0, what: { ...CALL, to: 0 } },
      { after: 7, what: { ...CALL, to: 1 } },
      { after: 30, what: { do: 'connect', to: 0 } },
    ],
  },
}

for (const [name, one] of Object.entries(CASES))
  test(name, async () => {
    assert.deepEqual((await run(one)).violations, [])
  })
