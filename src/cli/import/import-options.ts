import { type Command, InvalidArgumentError } from 'commander'
import { formatOption } from '../options.ts'

/** Options of every import. @param what `files` or `file` */
export function withOutput(command: Command): Command {
  return command
    .option('-o, --output <folder>', 'folder for the files (default: standard output)')
    .option('--force', 'overwrite existing files')
    .addOption(formatOption())
}

/** An option of imports that find secrets. */
export function withEnv(command: Command): Command {
  return withOutput(command).option(
    '--write-env <file>',
    'add the secrets of the imported file to this file of variables, such as .env',
  )
}

/** @throws InvalidArgumentError */
export function configurationName(text: string): string {
  if (!/^[a-z0-9](?:[a-z0-9_.-]{0,38}[a-z0-9])?$/i.test(text))
    throw new InvalidArgumentError('Use at most 40 letters, digits, -, _ and ., for example shop.')
  return text
}

/** @throws InvalidArgumentError */
export function urlPrefix(text: string): string {
  if (!/^(?:\/[\w.~-]+)+\/?$/.test(text)) throw new InvalidArgumentError('Use a path, for example /shop.')
  return text
}

/** @throws InvalidArgumentError */
export function baseUrl(text: string): string {
  if (!/^https?:\/\/[^\s/?#@"{}\\]+(?:\/[^\s?#"{}\\]*)?$/i.test(text) || !URL.canParse(text))
    throw new InvalidArgumentError('Use a URL, for example https://api.example.com/v1.')
  return text
}
