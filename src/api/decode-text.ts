/** UTF-8 bytes → text. Bad bytes become U+FFFD, a byte order mark stays, as in Go. */
export function decodeText(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')
}
