import type { CodeInfo } from '../codes.ts'

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
