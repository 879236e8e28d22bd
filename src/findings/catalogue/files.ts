import type { CodeInfo } from '../codes.ts'

/** Files and YAML. */
export const FILES = {
  'unreadable-file': {
    severity: 'error',
    title: 'The file cannot be read',
    cause:
      'The path does not exist, is not a file or folder, is not UTF-8 text (compressed, for example), or may not be read.',
    fix: 'Check the path, its spelling and its permissions; decompress the file, or save it as UTF-8.',
  },
  'linked-file': {
    severity: 'error',
    title: 'A link out of the folder to an invalid configuration',
    cause:
      'A symbolic link in a folder of configurations leads to a file outside it. Such a file is served when it is valid; its errors are not shown, since the author of the link may not be allowed to read the file.',
    fix: 'Check the file by its own path: `plantgw validate <file>`. Links within the folder, as in a Kubernetes ConfigMap, are read like files.',
  },
  'unreadable-store': {
    severity: 'error',
    title: 'The store cannot be read',
    cause:
      'The database or file that `storage` of the settings names does not respond, refuses the credentials, or is damaged. A running gateway keeps serving its current configurations.',
    fix: 'Read the message; check that the server runs and that `url` or `file` is right, then reload.',
  },
  'no-files': {
    severity: 'warning',
    title: 'The folder contains no configurations',
    cause:
      'The gateway reads every `*.yaml`, `*.yml` and `*.json` file in and below a folder, except hidden ones, those in `node_modules`, and JSON files without a key of configurations such as `servers`; this folder has none.',
    fix: 'Name the folder that contains the configurations, or add one.',
  },
  'file-too-large': {
    severity: 'error',
    title: 'The file is too large',
    cause: 'A configuration file is read as a whole; more than 4 MiB is refused.',
    fix: 'Split it into a configuration per service or per domain.',
  },
  'empty-file': {
    severity: 'error',
    title: 'The file is empty',
    cause: 'The file contains no YAML value: it is empty, or contains only comments.',
    fix: 'Write a configuration with at least `name`, or remove the file.',
  },
  'wrong-file': {
    severity: 'error',
    title: 'The file is of another kind',
    cause:
      'The file is valid, but made for something else: an OpenAPI description, a Postman collection, the list of MCP servers of a client, a manifest, or a settings file where a configuration belongs, or the reverse. Nothing else is checked in it.',
    fix: 'Use the command that reads it, as the finding says, or give the right file.',
    wrong: 'openapi: 3.1.0\ninfo: {title: Shop, version: 1.0.0}\npaths: {}',
    right: 'name: shop',
  },
  'too-many-findings': {
    severity: 'info',
    title: 'There are more findings',
    cause: 'Only the first 1,000 findings of a file are reported, errors first.',
    fix: 'Fix those, then check again.',
  },
  'yaml-syntax': {
    severity: 'error',
    title: 'The file is not YAML',
    cause: 'The text breaks the rules of YAML 1.2, so none of it can be trusted.',
    fix: 'Fix the marked place. Indent with spaces; quote text that begins with `{`, `[`, `*`, `&`, `@` or `%`.',
    wrong: 'name: user\ntools: [{name: a, endpoint: http://localhost}',
    right: 'name: user\ntools: [{name: a, endpoint: http://localhost}]',
  },
  'yaml-warning': {
    severity: 'warning',
    title: 'The YAML is doubtful',
    cause: 'The text is YAML, but parsers may read it in different ways.',
    fix: 'Write the marked place in a plainer way.',
  },
  'several-documents': {
    severity: 'error',
    title: 'The file contains several documents',
    cause: 'A file is one configuration; everything after the second `---` would be lost.',
    fix: 'Give each configuration its own file.',
    wrong: 'name: one\n---\nname: two',
    right: 'name: one',
  },
  'duplicate-key': {
    severity: 'error',
    title: 'A repeated key in an object',
    cause: 'Only one of the two values could count, and it is undefined which one.',
    fix: 'Keep one of the two.',
    wrong: 'name: one\nname: two',
    right: 'name: one',
  },
  'not-json': {
    severity: 'error',
    title: 'A value that JSON cannot hold',
    cause:
      'Configurations are JSON values written as YAML: no tags of other types, no `.nan` or `.inf`, keys are strings.',
    fix: 'Write a string, number, boolean, array or object; quote it when a string is meant.',
    wrong: 'name: !!binary aGVsbG8=',
    right: 'name: hello',
  },
  'bad-alias': {
    severity: 'error',
    title: 'An alias that cannot be followed',
    cause:
      'An alias (`*name`) needs its anchor (`&name`) before it, must not contain itself, and all aliases together must not expand the file beyond its limit.',
    fix: 'Fix the name, or write out the value.',
    wrong: 'name: one\nnotifier: *shared',
    right: 'name: one\nnotifier: {type: signal, signal: {signal: SIGHUP, pid: plantgw.pid}}',
  },
} as const satisfies Record<string, CodeInfo>

/** Environment variables. */
export const ENV = {
  'env-unset': {
    severity: 'error',
    title: 'An environment variable is not set',
    cause:
      '`${NAME}` without a default, or `env "NAME"` in a template, reads a variable that does not exist.',
    fix: 'Set the variable, or give a default: `${NAME:default}`, `{{env "NAME" "default"}}`.',
    wrong: 'name: ${SERVICE_NAME}',
    right: 'name: ${SERVICE_NAME:user}',
  },
  'secret-file': {
    severity: 'error',
    title: 'A secret file that cannot be read',
    cause:
      '`${file:/path}` is replaced by the content of a file, such as a secret that Docker or Kubernetes mounts. The file does not exist, is not a regular file of at most 64 KiB, may not be read by this user, or the configuration belongs to a tenant, for which no files are read.',
    fix: 'Fix the path, which is absolute, or the permissions of the file. For a tenant use a variable that `env` of the tenant names.',
    wrong: 'name: ${file:/run/secrets/missing}',
    right: 'name: ${SERVICE_NAME:user}',
  },
  'env-withheld': {
    severity: 'error',
    title: 'An environment variable that the tenant may not read',
    cause:
      'Configurations of a tenant read only the environment variables that `env` of the tenant in the settings names. The finding says nothing of whether the variable is set.',
    fix: 'Use a variable of the tenant, or add the name to `env` of the tenant in the settings.',
  },
  'env-syntax': {
    severity: 'warning',
    title: 'Text that looks like an environment variable',
    cause:
      'Only `${NAME}` and `${NAME:default}` are replaced; the marked text stays unchanged, or its default looks wrong.',
    fix: 'Write `${NAME:default}`; write `$${` where `${` itself is meant.',
    wrong: 'name: ${ SERVICE_NAME }',
    right: 'name: ${SERVICE_NAME:user}',
  },
} as const satisfies Record<string, CodeInfo>

/** Comments that silence findings. */
export const IGNORES = {
  'ignore-form': {
    severity: 'warning',
    title: 'A comment that cannot silence anything',
    cause:
      'A comment silences the findings of the codes that it names, and says why: `# plantgw-ignore CODE: reason`. This one names no existing code, or gives no reason.',
    fix: 'Write the code of the finding, a colon and a reason.',
    wrong: 'name: user # plantgw-ignore no-router',
    right: 'name: user # plantgw-ignore no-router: it is still being written',
  },
  'unused-ignore': {
    severity: 'warning',
    title: 'A comment that silences nothing',
    cause:
      'There is no finding of this code on the line of the comment or, if the comment is alone on its line, on the next line. The comment would hide a later mistake there.',
    fix: 'Remove the comment.',
    wrong:
      'name: user\nrouters:\n  # plantgw-ignore no-router: there is one now\n  - {server: user, prefix: /user}\nservers: [{name: user}]',
    right: 'name: user\nrouters:\n  - {server: user, prefix: /user}\nservers: [{name: user}]',
  },
} as const satisfies Record<string, CodeInfo>
