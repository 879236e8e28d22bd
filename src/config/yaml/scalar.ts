import { type Json, parse } from '../../json/index.ts'

/**
 * The value of plain text by the core schema of YAML 1.2, numbers exact; undefined for `.inf` and `.nan`.
 * @param known what the YAML reader made of it, for tags that set the type
 */
export function scalarValue(text: string, known?: unknown): Json | undefined {
  if (/^(?:~|null|Null|NULL|)$/.test(text)) return null
  if (/^(?:true|True|TRUE)$/.test(text)) return true
  if (/^(?:false|False|FALSE)$/.test(text)) return false
  if (/^[-+]?(?:\.inf|\.Inf|\.INF)$|^(?:\.nan|\.NaN|\.NAN)$/.test(text)) return undefined
  if (/^[-+]?\d+$/.test(text) || /^0x[\da-fA-F]+$/.test(text) || /^0o[0-7]+$/.test(text)) return integer(text)
  if (/^[-+]?(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][-+]?\d+)?$/.test(text)) return parse(asJson(text))
  if (typeof known === 'boolean' || typeof known === 'number') return known
  return text
}

function integer(text: string): number | bigint {
  const value = Number(text)
  if (Number.isSafeInteger(value)) return value
  return text.startsWith('-') ? -BigInt(text.slice(1)) : BigInt(text.replace('+', ''))
}

/** `+1.`, `.5` and `01.5` are numbers in YAML but not in JSON. */
function asJson(text: string): string {
  const [, sign, whole, fraction, exponent] = /^[+]?(-?)(\d*)(?:\.(\d*))?([eE].*)?$/.exec(text)!
  const digits = whole!.replace(/^0+(?=\d)/, '') || '0'
  return `${sign}${digits}${fraction ? `.${fraction}` : ''}${exponent ?? ''}`
}
