/** A configuration without findings. */
export const sound = (name: string, note = 'first', tenant?: string, prefix = `/${name}`) => `name: ${name}
${tenant ? `tenant: ${tenant}\n` : ''}routers: [{ server: s, prefix: ${prefix} }]
servers: [{ name: s, description: ${note} }]
tools: [{ name: hello, description: Says hello, endpoint: "http://127.0.0.1:9/" }]
`
