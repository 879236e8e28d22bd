const HEX = Buffer.from('0123456789ABCDEF')

/** By byte: the code that it is written as, 0 for `%XX`. @param plain the ASCII characters that stand for themselves */
export function percentTable(plain: RegExp): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, byte) =>
    byte < 128 && plain.test(String.fromCharCode(byte)) ? byte : 0,
  )
}

/** Percent-encodes bytes; much faster than a replacement for long texts. */
export function percentEncode(bytes: Uint8Array, table: Uint8Array): string {
  const out = Buffer.allocUnsafe(3 * bytes.length)
  let size = 0
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]!
    const plain = table[byte]!
    if (plain !== 0) out[size++] = plain
    else {
      out[size++] = 0x25
      out[size++] = HEX[byte >> 4]!
      out[size++] = HEX[byte & 15]!
    }
  }
  return out.toString('latin1', 0, size)
}
