import { memory } from '../../access/memory.ts'

/** A server-sent event (HTML, 9.2.6). */
export interface ServerEvent {
  event: string
  data: string
}

/** Units of a field's name. */
const ROOM = 16

/**
 * Reads server-sent events from text as it comes; fields but `event` and `data` are passed over.
 * @param hold has the event that has not ended; whoever made it frees it
 * @param limit UTF-16 units of one event; a longer one makes `tooLarge` run and is dropped
 */
export function eventParser(
  limit: number,
  onEvent: (event: ServerEvent) => void,
  tooLarge: () => void,
  hold = memory.hold(),
): (text: string) => void {
  /** A line that has not ended, in the pieces in which it came. */
  let rest: string[] = []
  let waiting = 0
  let event = ''
  let data: string[] = []
  let size = 0
  let dropped = false
  let afterReturn = false

  function line(text: string): void {
    if (text === '') {
      if (data.length && !dropped) onEvent({ event: event || 'message', data: data.join('\n') })
      event = ''
      data = []
      size = 0
      dropped = false
      return
    }
    const colon = text.indexOf(':')
    const field = colon < 0 ? text : text.slice(0, colon)
    const value = colon < 0 ? '' : text.slice(text[colon + 1] === ' ' ? colon + 2 : colon + 1)
    if (field === 'event') event = value
    else if (field === 'data') add(value)
  }
  function add(value: string): void {
    size += value.length + 1
    if (size <= limit) data.push(value)
    else drop()
  }
  function drop(): void {
    if (!dropped) tooLarge()
    dropped = true
    data = ['']
  }

  return (text) => {
    if (text === '') return
    if (afterReturn && text[0] === '\n') {
      afterReturn = false
      text = text.slice(1)
      if (text === '') return
    }
    afterReturn = text.endsWith('\r')
    const ends = /\r\n|\n|\r/g
    let start = 0
    for (let end = ends.exec(text); end; end = ends.exec(text)) {
      line(rest.join('') + text.slice(start, end.index))
      rest = []
      waiting = 0
      start = end.index + end[0].length
    }
    rest.push(text.slice(start))
    waiting += text.length - start
    if (waiting > limit + ROOM || !hold.replace(waiting + size)) {
      drop()
      rest = ['data: ']
      waiting = 0
      size = 0
      hold.free()
    }
  }
}
