import { createHash } from 'node:crypto'
import type { JsonObject } from '../json/index.ts'
import { errorResponse, Fault, isObject } from '../mcp/index.ts'
import { UNKNOWN_TASK } from '../tools/tasks.ts'
import { isOfTask, listeningTo, taskIdsOf } from './aggregate/server-names.ts'
import { type StatelessUpstream, type UpstreamCall, withRequest } from './rpc/stateless-upstream.ts'

/** Maximum tasks remembered for a caller; the oldest are dropped first. */
const MAX_TASKS = 1_000
/** Maximum callers whose tasks are remembered; the one with the oldest latest task is dropped first. */
const MAX_CALLERS = 10_000

/** Owners of one server's tasks, whose ids may be easy to guess. */
export class TaskOwners {
  readonly #owners = new Map<string, string>()
  readonly #tasks = new Map<string, Set<string>>()

  /** Whether the task belongs to no other caller. */
  isFree(taskId: string, { caller = '', resolved }: UpstreamCall): boolean {
    return (this.#owners.get(keyOf(taskId, resolved.key)) ?? caller) === caller
  }

  add(taskId: string, { caller = '', resolved }: UpstreamCall): void {
    const key = keyOf(taskId, resolved.key)
    this.#forget(key)
    const own = this.#tasks.get(caller) ?? new Set()
    this.#tasks.delete(caller)
    this.#tasks.set(caller, own.add(key))
    this.#owners.set(key, caller)
    if (own.size > MAX_TASKS) this.#forget(own.values().next().value as string)
    if (this.#tasks.size <= MAX_CALLERS) return
    const [[oldest, tasks]] = this.#tasks as unknown as [[string, Set<string>]]
    for (const task of tasks) this.#owners.delete(task)
    this.#tasks.delete(oldest)
  }

  #forget(key: string): void {
    const owner = this.#owners.get(key)
    this.#owners.delete(key)
    if (owner !== undefined) this.#tasks.get(owner)?.delete(key)
  }
}

function keyOf(taskId: string, server: string): string {
  return createHash('sha256')
    .update(JSON.stringify([server, taskId]))
    .digest('base64url')
}

/** A shared server, restricted to each caller's own tasks. */
export function withOwnTasks(server: StatelessUpstream, owners: TaskOwners): StatelessUpstream {
  return withRequest(server, async (call) => {
    const { id, method, params } = call.message
    const isFree = (taskId: string) => owners.isFree(taskId, call)
    if (isOfTask(method) && !isFree(String(params.taskId))) return errorResponse(id, UNKNOWN_TASK)
    const raw = await server.request({
      ...call,
      message: listeningTo(call.message, (taskId) => (isFree(taskId) ? [taskId] : [])),
      onMessage: (heard) => {
        if (taskIdsOf(heard).every(isFree)) call.onMessage(heard)
      },
    })
    if (!raw || raw instanceof Fault) return raw
    // A restarted server may reuse ids, so the latest owner counts.
    if (method === 'tools/call') for (const taskId of taskIdsOf(raw)) owners.add(taskId, call)
    return method === 'tasks/list' ? withoutOthers(raw, isFree) : raw
  })
}

function withoutOthers(raw: JsonObject, isFree: (taskId: string) => boolean): JsonObject {
  const { result } = raw
  if (!isObject(result) || !Array.isArray(result.tasks)) return raw
  const tasks = result.tasks.filter((task) => isObject(task) && isFree(String(task.taskId)))
  return { ...raw, result: { ...result, tasks } }
}
