/** The fields of a message of protobuf (protobuf.dev, Encoding), by their numbers. */
export interface Fields {
  messages(field: number): Fields[]
  /** Undefined where the field is absent, as below. */
  text(field: number): string | undefined
  /** Of bytes. */
  hex(field: number): string | undefined
  number(field: number): bigint | undefined
}

/** @throws Error when the bytes are not a message */
export function fieldsOf(bytes: Buffer): Fields {
  const sized: [field: number, value: Buffer][] = []
  const numbers: [field: number, value: bigint][] = []
  let at = 0
  const varint = () => {
    let value = 0n
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes.readUInt8(at++)
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return value
    }
  }
  while (at < bytes.length) {
    const tag = Number(varint())
    const [field, type] = [tag >> 3, tag & 7]
    if (type === 0) numbers.push([field, varint()])
    else if (type === 1) {
      numbers.push([field, bytes.readBigUInt64LE(at)])
      at += 8
    } else if (type === 5) {
      numbers.push([field, BigInt(bytes.readUInt32LE(at))])
      at += 4
    } else if (type === 2) {
      const size = Number(varint())
      if (at + size > bytes.length) throw new Error(`field ${field} ends beyond its message`)
      sized.push([field, bytes.subarray(at, at + size)])
      at += size
    } else throw new Error(`field ${field} has the unknown type ${type}`)
  }
  const first = (field: number) => sized.find(([number]) => number === field)?.[1]
  return {
    messages: (field) => sized.filter(([number]) => number === field).map(([, value]) => fieldsOf(value)),
    text: (field) => first(field)?.toString(),
    hex: (field) => first(field)?.toString('hex'),
    number: (field) => numbers.find(([number]) => number === field)?.[1],
  }
}
