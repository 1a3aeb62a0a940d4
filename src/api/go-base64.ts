/** Base64 as Go's decoder takes it. upstream: encoding/base64 StdEncoding, decodeQuantum */

const DIGIT = /[A-Za-z0-9+/]/

/** Where a text stops being base64, as Go counts it; undefined for base64. Line breaks may stand anywhere. */
export function corruptBase64(text: string): number | undefined {
  const bytes = Buffer.from(text).toString('latin1')
  let digits = 0
  for (let i = 0; i < bytes.length; i++) {
    const char = bytes[i] as string
    if (char === '\n' || char === '\r') continue
    if (DIGIT.test(char)) digits++
    else return char === '=' ? corruptPadding(bytes, i, digits % 4) : i
  }
  // The offset of the quantum that is not whole; line breaks do not count.
  return digits % 4 === 0 ? undefined : bytes.length - (digits % 4)
}

// `at` is the first padding, behind so many digits of its quantum.
function corruptPadding(bytes: string, at: number, digits: number): number | undefined {
  const next = (from: number): number => {
    let i = from
    while (bytes[i] === '\n' || bytes[i] === '\r') i++
    return i
  }
  if (digits < 2) return at
  let end = next(at + 1)
  if (digits === 2) {
    if (end === bytes.length) return bytes.length
    if (bytes[end] !== '=') return end - 1
    end = next(end + 1)
  }
  return end < bytes.length ? end : undefined
}
