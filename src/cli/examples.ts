/** Examples at the end of `--help`, by the words of the command. */
export const EXAMPLES: Readonly<Record<string, readonly string[]>> = {
  init: ['plantgw init', 'plantgw init shop --name shop'],
  import: [
    'plantgw import openapi https://petstore3.swagger.io/api/v3/openapi.json -o configs',
    'plantgw import mcp .mcp.json -o configs',
  ],
  'import openapi': [
    'plantgw import openapi openapi.yaml --list',
    'plantgw import openapi openapi.yaml -o configs',
    'plantgw import openapi https://api.example.com/openapi.json --name shop --tag orders -o configs',
  ],
  'import mcp': [
    'plantgw import mcp ~/.config/Claude/claude_desktop_config.json -o configs',
    'plantgw import mcp .vscode/mcp.json -o configs',
    'plantgw import mcp \'npx -y supergateway --stdio "uvx mcp-server-git"\' > git.yaml',
  ],
  'import unla': ['plantgw import unla configs/mcp-gateway.yaml > plantgw.yaml'],
  'import postman': ['plantgw import postman shop.postman_collection.json -o configs'],
  'import curl': [
    `plantgw import curl 'curl https://api.example.com/users/42 -H "Authorization: Bearer x"' > users.yaml`,
  ],
  'import har': ['plantgw import har recording.har --name shop > shop.yaml'],
  serve: [
    'plantgw serve                       # with plantgw.yaml in this folder',
    'plantgw serve configs/ --port 8080 --watch',
    'plantgw serve --stdio configs/      # one client, on standard input and output',
    'plantgw serve --settings /etc/plantgw/plantgw.yaml --pid /run/plantgw.pid',
  ],
  connect: [
    'plantgw connect claude-code',
    'plantgw connect vscode /shop --project',
    'plantgw connect cursor /shop --url https://tools.example.com',
    'plantgw connect codex --remove',
  ],
  reload: ['plantgw reload', 'plantgw reload shop', 'plantgw reload --pid /run/plantgw.pid'],
  diff: ['plantgw diff', 'plantgw diff --url http://127.0.0.1:5236'],
  validate: [
    'plantgw validate configs/',
    'plantgw validate configs/ --fix',
    'plantgw validate configs/ --format github --max-warnings 0   # in CI',
  ],
  'lint-templates': ['plantgw lint-templates configs/', 'plantgw lint-templates configs/shop.yaml --fix'],
  render: [
    'plantgw render configs/shop.yaml get_order id=7',
    'plantgw render configs/shop.yaml get_order id=7 --response answer.json',
  ],
  config: ['plantgw config apply -f configs/', 'plantgw config history shop'],
  'config list': ['plantgw config list', 'plantgw config list --tenant green'],
  'config get': ['plantgw config get shop > shop.yaml'],
  'config apply': [
    'plantgw config apply -f configs/ -m "new prices"',
    'plantgw config apply -f shop.yaml --expect 3',
  ],
  'config delete': ['plantgw config delete shop'],
  'config history': ['plantgw config history shop'],
  'config diff': ['plantgw config diff -f configs/', 'plantgw config diff shop --from 3'],
  'config rollback': ['plantgw config rollback shop', 'plantgw config rollback shop --to 3'],
  explain: ['plantgw explain', 'plantgw explain unknown-key'],
  'check-endpoints': ['plantgw check-endpoints configs/', 'plantgw check-endpoints configs/ --format json'],
  pin: ['plantgw pin configs/', 'plantgw pin --check configs/   # in CI'],
  tools: ['plantgw tools /plants', 'plantgw tools https://example.com/mcp --json'],
  logout: ['plantgw logout', 'plantgw logout https://example.com/mcp'],
  call: [
    'plantgw call /plants create_plant id=1 name=Fern',
    'plantgw call https://example.com/mcp search query=tea limit:=5 filter=@filter.json',
  ],
  search: [
    'plantgw search configs/ "give money back"',
    'plantgw search configs/ "refund payment" "create a refund" --json',
  ],
  schema: ['plantgw schema configuration > configuration.schema.json'],
  completion: ['eval "$(plantgw completion bash)"'],
}
