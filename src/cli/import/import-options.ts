import { InvalidArgumentError } from 'commander'

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
