/** Whether the user has set an option of Node or V8. @param option with hyphens, where the user may write underscores */
export function isGiven(option: RegExp): boolean {
  return option.test([...process.execArgv, process.env.NODE_OPTIONS].join(' ').replaceAll('_', '-'))
}
