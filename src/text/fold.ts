const PLAIN = /^[\x21-\x7e]*$/
const INVISIBLE = /[\p{C}\p{Z}\p{M}]/gu

/** Folds a name as the most lenient reader does: without case, width, marks and invisible characters. */
export function fold(key: string): string {
  if (PLAIN.test(key)) return key.toLowerCase()
  // Both ways, as some letters are equal in one case only (Unicode, CaseFolding: U+0131, U+017F, U+212A).
  return key.normalize('NFKD').replace(INVISIBLE, '').toUpperCase().toLowerCase().replace(INVISIBLE, '')
}
