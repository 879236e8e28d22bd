/** Parameters of a new project's files. */
export interface Starter {
  service: string
  /** Path of `configuration.schema.json` from the configurations' folder. */
  configurationSchema: string
  /** Path of `settings.schema.json` from the settings. */
  settingsSchema: string
}

/** A service that works at once: it calls the plant store enabled in the settings. */
export function starterConfiguration({ service, configurationSchema }: Starter): string {
  return `# yaml-language-server: $schema=${configurationSchema}
#
# One service as MCP tools. It calls the plant store of plantgw.yaml, so that it works at once: put your own API in
# its place. \`plantgw validate configs\` reports errors, \`plantgw render configs/${service}.yaml create_plant
# id=1 name=Fern\` shows what a call would send.
name: ${service}

# Clients reach a server below its prefix: http://127.0.0.1:5235/${service}/mcp
routers:
  - server: ${service}
    prefix: /${service}

servers:
  - name: ${service}
    description: Keeps a list of plants # clients show this to their model
    config:
      # Templates read these as .Config; \${NAME:default} is an environment variable.
      url: http://127.0.0.1:\${PLANTGW_PORT:5235}/plant-store
      token: \${PLANTS_TOKEN:demo-token}
    # Without allowedTools a server offers every tool of the file.

tools:
  - name: list_plants
    description: Lists the plants in order of creation # a model chooses a tool by this
    method: GET
    endpoint: "{{.Config.url}}/plants"
    headers:
      Authorization: "Bearer {{.Config.token}}"
    annotations:
      readOnlyHint: true

  - name: create_plant
    description: Stores a plant under an id that is not taken yet
    method: POST
    endpoint: "{{.Config.url}}/plants"
    headers:
      Authorization: "Bearer {{.Config.token}}"
    # position says where a value goes: path, query, header, body or form-data. Without a requestBody the body
    # arguments are sent as one JSON object.
    args:
      - name: id
        position: body
        type: integer
        required: true
        description: Identification number
      - name: name
        position: body
        type: string
        required: true
        description: Name of the plant
      - name: tag
        position: body
        type: string
        description: What kind of plant it is
    # The API answers without the id, which a model needs to delete the plant.
    responseBody: Stored plant {{.Args.id}}, {{.Response.Data.name}}.

  - name: delete_plant
    description: Deletes the plant with this id
    method: DELETE
    # No value can leave its place: a / in the id is sent as %2F.
    endpoint: "{{.Config.url}}/plants/{{.Args.id}}"
    headers:
      Authorization: "Bearer {{.Config.token}}"
    args:
      - name: id
        position: path
        type: integer
        required: true
        description: Identification number of the plant
    # What the client gets instead of the empty answer.
    responseBody: Deleted plant {{.Args.id}}.
    annotations:
      destructiveHint: true
      idempotentHint: true
`
}

export function starterSettings({ settingsSchema }: Starter): string {
  return `# yaml-language-server: $schema=${settingsSchema}
#
# Settings of the gateway: flags and PLANTGW_… variables override this file.
port: 5235
host: 127.0.0.1 # 0.0.0.0 is for other machines too; then every router needs \`auth\`
watch: true # changes of the configurations are applied automatically

logger:
  level: info

# What \`plantgw serve --settings plantgw.yaml\` serves.
storage:
  type: directory
  path: configs

# A small API to try things with: POST and GET /plant-store/plants, DELETE /plant-store/plants/{id}. Remove it when
# you no longer need it.
plants:
  basePath: /plant-store
  file: data/plants.json
  tokens:
    - token: \${PLANTS_TOKEN:demo-token}
      caller: demo
`
}
