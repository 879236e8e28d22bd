import type { CodeInfo } from '../codes.ts'

/** Files and YAML, and the variables in it. */
export const FILES = {
  'unreadable-file': {
    severity: 'error',
    title: 'The file cannot be read',
    cause: 'The path does not exist, is not a file or folder, is not UTF-8 text, or may not be read.',
    cure: 'Check the path, its spelling and its permissions; save the file as UTF-8.',
  },
  'linked-file': {
    severity: 'error',
    title: 'A link out of the folder leads to no sound configuration',
    cause:
      'A symbolic link in a folder of configurations leads to a file outside of it. Such a file is served when it is sound; what is wrong with it is not shown, since whoever made the link may not be allowed to read the file.',
    cure: 'Check the file by its own path: `plantgw validate <file>`. Links within the folder, as in a Kubernetes ConfigMap, are read like files.',
  },
  'unreadable-store': {
    severity: 'error',
    title: 'The store cannot be read',
    cause:
      'The database or file that `storage` of the settings names does not answer, refuses the credentials, or is damaged. A gateway that runs already serves on what it has.',
    cure: 'Read the message; see that the server runs and that `url` or `file` is right, then reload.',
  },
  'no-files': {
    severity: 'warning',
    title: 'The folder holds no configuration',
    cause:
      'A folder gives every `*.yaml` and `*.yml` file in it and below it, hidden ones apart; this one has none.',
    cure: 'Name the folder that holds the configurations, or put one there.',
  },
  'file-too-large': {
    severity: 'error',
    title: 'The file is too large',
    cause: 'A file of configuration is read whole; more than 4 MiB is refused.',
    cure: 'Split it into a configuration per service or per domain.',
  },
  'empty-file': {
    severity: 'error',
    title: 'The file is empty',
    cause: 'The file holds no YAML value: it is empty, or all of it is comments.',
    cure: 'Write a configuration with at least `name`, or remove the file.',
  },
  'too-many-findings': {
    severity: 'info',
    title: 'There are more findings',
    cause: 'Only the first 1,000 findings of a file are told, errors before others.',
    cure: 'Mend those, then look again.',
  },
  'yaml-syntax': {
    severity: 'error',
    title: 'The file is not YAML',
    cause: 'The text breaks the rules of YAML 1.2, so nothing of it can be trusted.',
    cure: 'Mend the marked place. Indent with spaces; quote text that begins with `{`, `[`, `*`, `&`, `@` or `%`.',
    wrong: 'name: user\ntools: [{name: a, endpoint: http://localhost}',
    right: 'name: user\ntools: [{name: a, endpoint: http://localhost}]',
  },
  'yaml-warning': {
    severity: 'warning',
    title: 'The YAML is doubtful',
    cause: 'The text is YAML, but readers may take it in different ways.',
    cure: 'Write the marked place in a plainer way.',
  },
  'several-documents': {
    severity: 'error',
    title: 'The file holds several documents',
    cause: 'A file is one configuration; what follows the second `---` would be lost.',
    cure: 'Give each configuration a file of its own.',
    wrong: 'name: one\n---\nname: two',
    right: 'name: one',
  },
  'duplicate-key': {
    severity: 'error',
    title: 'A key stands twice in one map',
    cause: 'Only one of the two values could count, and which one is a matter of luck.',
    cure: 'Keep one of the two.',
    wrong: 'name: one\nname: two',
    right: 'name: one',
  },
  'not-json': {
    severity: 'error',
    title: 'A value that JSON cannot hold',
    cause:
      'Configurations are JSON values written as YAML: no tags of other types, no `.nan` or `.inf`, keys are text.',
    cure: 'Write a string, number, boolean, list or map; quote it when text is meant.',
    wrong: 'name: !!binary aGVsbG8=',
    right: 'name: hello',
  },
  'bad-alias': {
    severity: 'error',
    title: 'An alias that cannot be followed',
    cause:
      'An alias (`*name`) needs its anchor (`&name`) before it, must not hold itself, and all aliases together must not make the file grow beyond measure.',
    cure: 'Mend the name, or write the value out.',
    wrong: 'name: one\nnotifier: *shared',
    right: 'name: one\nnotifier: {type: signal, signal: {signal: SIGHUP, pid: plantgw.pid}}',
  },
  'env-unset': {
    severity: 'error',
    title: 'An environment variable is not set',
    cause:
      '`${NAME}` without a default, or `env "NAME"` in a template, reads a variable that does not exist.',
    cure: 'Set the variable, or give a default: `${NAME:default}`, `{{env "NAME" "default"}}`.',
    wrong: 'name: ${SERVICE_NAME}',
    right: 'name: ${SERVICE_NAME:user}',
  },
  'env-syntax': {
    severity: 'warning',
    title: 'Text that looks like an environment variable',
    cause:
      'Only `${NAME}` and `${NAME:default}` are replaced; the marked text stays as it is, or its default is odd.',
    cure: 'Write `${NAME:default}`; write `$${` where `${` itself is meant.',
    wrong: 'name: ${ SERVICE_NAME }',
    right: 'name: ${SERVICE_NAME:user}',
  },
} as const satisfies Record<string, CodeInfo>
