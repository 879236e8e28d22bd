/** Types of fields, which with their numbers make their tags. */
const VARINT = 0
const FIXED64 = 1
const SIZED = 2
const FIXED32 = 5
/** Bytes that a tag and a number or a size take at the most. */
const MOST = 16

const DIGITS = new Uint8Array(128)
for (const [value, digit] of [...'0123456789abcdef'].entries()) DIGITS[digit.charCodeAt(0)] = value

/** Writes fields of a message (protobuf.dev, Encoding) one after another. */
export class ProtobufWriter {
  private bytes = Buffer.alloc(1024)
  private length = 0

  /** What was written since the last time, until something is written again: no copy is made. */
  take(): Uint8Array {
    const bytes = this.bytes.subarray(0, this.length)
    this.length = 0
    return bytes
  }

  /** @param value an integer from 0 to 2^31 - 1 */
  integer(field: number, value: number): void {
    this.reserve(MOST)
    this.tag(field, VARINT)
    this.varint(value)
  }

  fixed32(field: number, value: number): void {
    this.reserve(MOST)
    this.tag(field, FIXED32)
    this.word(value)
  }

  /** @param value an integer from 0 to 2^64 - 1, as far as a double holds it */
  fixed64(field: number, value: number): void {
    this.reserve(MOST)
    this.tag(field, FIXED64)
    const high = Math.floor(value / 0x1_0000_0000)
    this.word(value - high * 0x1_0000_0000)
    this.word(high)
  }

  text(field: number, text: string): void {
    const { length } = text
    this.reserve(MOST + length)
    const start = this.open(field)
    const { bytes } = this
    let isAscii = true
    for (let i = 0; i < length && isAscii; i++) {
      const code = text.charCodeAt(i)
      bytes[start + i] = code
      isAscii = code <= 0x7f
    }
    if (isAscii) this.length = start + length
    else this.put(Buffer.from(text))
    this.close(start)
  }

  /** Writes bytes. @param hex two lower-case digits for each */
  hex(field: number, hex: string): void {
    const size = hex.length / 2
    this.reserve(MOST + size)
    const start = this.open(field)
    const { bytes } = this
    for (let i = 0; i < size; i++)
      bytes[start + i] = (DIGITS[hex.charCodeAt(2 * i)]! << 4) | DIGITS[hex.charCodeAt(2 * i + 1)]!
    this.length = start + size
    this.close(start)
  }

  /** @param size bytes of a message that comes after it */
  head(field: number, size: number): void {
    this.reserve(MOST)
    this.tag(field, SIZED)
    this.varint(size)
  }

  /** Fields that are written already. */
  put(fields: Uint8Array): void {
    this.reserve(fields.length)
    this.bytes.set(fields, this.length)
    this.length += fields.length
  }

  /** Begins a message. @returns what `close` needs at its end */
  open(field: number): number {
    this.reserve(MOST)
    this.tag(field, SIZED)
    // Most sizes take one byte.
    return ++this.length
  }

  close(start: number): void {
    const size = this.length - start
    this.length = start - 1
    if (size > 0x7f) {
      this.reserve(MOST + size)
      const more = Math.floor(Math.log2(size) / 7)
      this.bytes.copyWithin(start + more, start, start + size)
    }
    this.varint(size)
    this.length += size
  }

  private reserve(size: number): void {
    const { bytes, length } = this
    if (length + size > bytes.length) this.bytes = Buffer.concat([bytes], 2 * (length + size))
  }

  private tag(field: number, type: number): void {
    this.varint((field << 3) | type)
  }

  private varint(value: number): void {
    let rest = value
    for (; rest > 0x7f; rest >>>= 7) this.bytes[this.length++] = (rest & 0x7f) | 0x80
    this.bytes[this.length++] = rest
  }

  private word(value: number): void {
    for (let shift = 0; shift < 32; shift += 8) this.bytes[this.length++] = value >>> shift
  }
}
