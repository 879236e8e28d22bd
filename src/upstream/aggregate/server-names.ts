import { SEPARATOR } from '../../config/listed-servers.ts'
import { isObject, type Json, type JsonObject } from '../../json/index.ts'
import { metaOf, omit, type Request, withParams } from '../../mcp/index.ts'

/** Names and task ids of several servers behind one prefix, prefixed with the server's name. */

const RELATED = 'io.modelcontextprotocol/related-task'
const OF_ONE_TASK = new Set(['tasks/get', 'tasks/result', 'tasks/update', 'tasks/cancel'])

/** Whether a method concerns the task named in its params. */
export function isOfTask(method: string): boolean {
  return OF_ONE_TASK.has(method)
}

/** A name as clients see it. */
export function prefixed(server: string, own: string): string {
  return `${server}${SEPARATOR}${own}`
}

/** The server that a name identifies, and its own name there; the longest match counts. */
export function ownerOf(
  servers: readonly { name: string }[],
  name: string,
): { to: number; own: string } | undefined {
  let best: { to: number; own: string } | undefined
  for (const [to, { name: server }] of servers.entries()) {
    if (!name.startsWith(server + SEPARATOR)) continue
    const own = name.slice(server.length + SEPARATOR.length)
    if (!best || own.length < best.own.length) best = { to, own }
  }
  return best
}

/** A server's message with task ids as clients see them. */
export function withTaskIds(raw: JsonObject, server: string): JsonObject {
  return changed(raw, (id) => prefixed(server, id))
}

/** A client's message with the server's own task ids. */
export function withOwnTaskIds(raw: JsonObject, server: string): JsonObject {
  const start = server + SEPARATOR
  return changed(raw, (id) => (id.startsWith(start) ? id.slice(start.length) : id))
}

/** The task ids in a message. */
export function taskIdsOf(raw: JsonObject): string[] {
  const ids: string[] = []
  changed(raw, (id) => {
    ids.push(id)
    return id
  })
  return ids
}

/** A subscription for one server. @param choose the server's ids for a task named by the client; empty: none */
export function listeningTo(message: Request, choose: (taskId: string) => string[]): Request {
  const { notifications } = message.params
  if (!isObject(notifications) || !Array.isArray(notifications.taskIds)) return message
  const taskIds = notifications.taskIds.flatMap((id) => choose(String(id)))
  const own = { ...omit(notifications, 'taskIds'), ...(taskIds.length && { taskIds }) }
  return withParams(message, { ...message.params, notifications: own })
}

type Change = (id: string) => string

function changed(raw: JsonObject, change: Change): JsonObject {
  for (const key of ['result', 'params'] as const) {
    const body = raw[key]
    if (!isObject(body)) continue
    const shown = ofBody(body, change)
    if (shown !== body) return { ...raw, [key]: shown }
  }
  return raw
}

function ofBody(body: JsonObject, change: Change): JsonObject {
  const { task, tasks } = body
  const { [RELATED]: related } = metaOf(body)
  const shown: JsonObject = isTask(body) ? { ...body, taskId: change(body.taskId) } : { ...body }
  if (isTask(task)) shown.task = ofTask(task, change)
  if (Array.isArray(tasks)) shown.tasks = tasks.map((one) => ofTask(one, change))
  if (isObject(related) && typeof related.taskId === 'string')
    shown._meta = { ...metaOf(body), [RELATED]: { ...related, taskId: change(related.taskId) } }
  const isSame = Object.entries(shown).every(([key, value]) => body[key] === value)
  return isSame ? body : shown
}

function ofTask(task: Json, change: Change): Json {
  return isTask(task) ? { ...task, taskId: change(task.taskId) } : task
}

/** Only tasks have a status; other objects merely refer to one. */
function isTask(value: Json | undefined): value is JsonObject & { taskId: string } {
  return isObject(value) && typeof value.taskId === 'string' && typeof value.status === 'string'
}
