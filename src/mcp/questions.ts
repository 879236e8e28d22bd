/** Requests of a server that wait for the client's answer, in one session or one call. */
export const MAX_QUESTIONS = 64
