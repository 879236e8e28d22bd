/** Maximum server requests that wait for the client's answer, in one session or call. */
export const MAX_QUESTIONS = 64
