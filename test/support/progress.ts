interface Listening {
  transport?: { onmessage?: ((message: never, ...more: never[]) => void) | undefined } | undefined
}

/**
 * The progress that a client is sent from now on. Its own callback is no measure: a client forgets what it has not
 * reported yet when the answer comes in the same chunk.
 */
export function progressOf(client: object): number[] {
  const { transport } = client as Listening
  const heard: number[] = []
  const known = transport!.onmessage!
  transport!.onmessage = (message, ...more) => {
    const { method, params } = message as { method?: string; params?: { progress: number } }
    if (method === 'notifications/progress') heard.push(params!.progress)
    known(message, ...more)
  }
  return heard
}
