/** Cutting text to sizes in bytes, at code-point boundaries. */

/** The start of `text` that has at most `maxBytes` bytes in UTF-8. `text` must be well formed. */
export function truncate(text: string, maxBytes: number): string {
  if (text.length * 3 <= maxBytes || Buffer.byteLength(text) <= maxBytes) return text
  // A UTF-16 unit has at least one byte, so the first maxBytes units hold the first maxBytes bytes.
  const bytes = Buffer.from(text.slice(0, maxBytes))
  let end = maxBytes
  while (end > 0 && isContinuation(bytes[end])) end--
  return bytes.toString('utf8', 0, end)
}

/** The end of `text` that has at most `maxBytes` bytes in UTF-8: of a traceback the last lines say most. */
export function truncateStart(text: string, maxBytes: number): string {
  if (text.length * 3 <= maxBytes || Buffer.byteLength(text) <= maxBytes) return text
  const bytes = Buffer.from(text.slice(Math.max(0, text.length - maxBytes)))
  let start = bytes.length - maxBytes
  while (start < bytes.length && isContinuation(bytes[start])) start++
  return bytes.toString('utf8', start)
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80
}

/** `text` when it has at most `maxBytes`, else its start with an ellipsis, together at most `maxBytes` (at least 3). */
export function ellipsize(text: string, maxBytes: number): string {
  const cut = truncate(text, maxBytes)
  return cut === text ? text : `${truncate(text, maxBytes - 3)}…`
}

/** The size of a value as JSON in UTF-8. */
export function jsonBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value))
}
