/** The environment variable that has a bearer token for the gateway, unless another one is named. */
export const TOKEN_ENV = 'PLANTGW_TOKEN'
