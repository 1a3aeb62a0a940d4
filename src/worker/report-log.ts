/**
 * A report as lines of a log: base64 in numbered chunks, then a line with their count, the size and the SHA-256 of all.
 * A log may be rotated, cut or mixed with lines of others; what is read is the report that was written, or none.
 */
import { createHash } from 'node:crypto'
import { AttemptError } from './attempt-failure.ts'

/** Below what container runtimes write as one line (16 KiB). */
const CHUNK_BYTES = 4_500
const MARK = 'mlops-report'
const MAX_REPORT_BYTES = 2 * 1024 ** 2
/** What of a log is read: the report in base64, with room for lines before it. */
export const MAX_LOG_BYTES = 4 * 1024 ** 2

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')

/** The lines, each with its end. */
export function writeReportLog(report: string): string {
  const bytes = Buffer.from(report, 'utf8')
  const count = Math.ceil(bytes.length / CHUNK_BYTES)
  const chunks = Array.from({ length: count }, (_, i) => `${MARK} ${i} ${bytes.toString('base64', i * CHUNK_BYTES, Math.min(bytes.length, (i + 1) * CHUNK_BYTES))}\n`)
  return `${chunks.join('')}${MARK} end ${count} ${bytes.length} ${sha256(bytes)}\n`
}

/** The text of the report. Throws AttemptError with ResultsUnavailable for a log that does not hold all of it. */
export function readReportLog(log: string): string {
  const chunks = new Map<number, string>()
  let end: { count: number; bytes: number; digest: string } | undefined
  for (const line of log.split('\n')) {
    const [, index, data] = /^mlops-report (\d{1,6}) ([A-Za-z0-9+/=]+)\r?$/.exec(line) ?? []
    if (index !== undefined && data !== undefined) chunks.set(Number(index), data)
    const [, count, bytes, digest] = /^mlops-report end (\d{1,6}) (\d{1,8}) ([0-9a-f]{64})\r?$/.exec(line) ?? []
    if (digest !== undefined) end = { count: Number(count), bytes: Number(bytes), digest }
  }
  if (!end) throw unavailable(chunks.size === 0 ? 'the log of the container report holds no report' : 'the report in the log of the container report has no end')
  if (end.bytes > MAX_REPORT_BYTES) throw unavailable('the report is too large')
  for (let i = 0; i < end.count; i++) if (!chunks.has(i)) throw unavailable(`part ${i + 1} of ${end.count} of the report is missing in the log of the container report`)
  const bytes = Buffer.concat(Array.from({ length: end.count }, (_, i) => Buffer.from(chunks.get(i)!, 'base64')))
  if (bytes.length !== end.bytes || sha256(bytes) !== end.digest) throw unavailable('the report in the log of the container report was damaged: its checksum differs')
  return bytes.toString('utf8')
}

function unavailable(message: string): AttemptError {
  return new AttemptError('Result', 'ResultsUnavailable', message)
}
