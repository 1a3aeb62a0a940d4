/**
 * CRC-32C (Castagnoli, RFC 3720 appendix B.4), eight bytes a step ("slicing by 8"). Node's own `zlib.crc32` is the other
 * polynomial; this one finds more error patterns and has hardware instructions, should a native version be wanted.
 */
const POLYNOMIAL = 0x82f63b78
const TABLES = makeTables()

function makeTables(): Int32Array {
  const tables = new Int32Array(8 * 256)
  for (let byte = 0; byte < 256; byte++) {
    let crc = byte
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ POLYNOMIAL : crc >>> 1
    tables[byte] = crc
  }
  for (let i = 256; i < tables.length; i++) {
    const shorter = tables[i - 256]!
    tables[i] = (shorter >>> 8) ^ tables[shorter & 0xff]!
  }
  return tables
}

/** The CRC-32C of `bytes` as an unsigned number. With `previous`, that of the bytes it was made from followed by these. */
export function crc32c(bytes: Uint8Array, previous = 0): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const t = TABLES
  let crc = ~previous
  let i = 0
  for (const end = bytes.length - 7; i < end; i += 8) {
    const low = crc ^ view.getInt32(i, true)
    const high = view.getInt32(i + 4, true)
    crc =
      t[1792 + (low & 0xff)]! ^ t[1536 + ((low >>> 8) & 0xff)]! ^ t[1280 + ((low >>> 16) & 0xff)]! ^ t[1024 + (low >>> 24)]! ^
      t[768 + (high & 0xff)]! ^ t[512 + ((high >>> 8) & 0xff)]! ^ t[256 + ((high >>> 16) & 0xff)]! ^ t[high >>> 24]!
  }
  for (; i < bytes.length; i++) crc = (crc >>> 8) ^ t[(crc ^ bytes[i]!) & 0xff]!
  return ~crc >>> 0
}
