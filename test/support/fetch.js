// Each fetch of a test has a connection of its own: a server may close a kept one just when it is used again.
import { Agent, setGlobalDispatcher } from 'undici'

setGlobalDispatcher(new Agent({ pipelining: 0 }))
