import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { AttemptError } from './attempt-failure.ts'
import { readReportLog, writeReportLog } from './report-log.ts'

const unavailable = (error: unknown): boolean => error instanceof AttemptError && error.failure.reason === 'ResultsUnavailable'

test('a report comes back as it was written, between lines of others', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 20_000 }), fc.array(fc.string().filter((line) => !line.includes('mlops-report'))), (report, noise) => {
      const text = Buffer.from(report, 'utf8').toString('utf8')
      const lines = writeReportLog(report).split('\n').flatMap((line, i) => [line, noise[i] ?? ''])
      assert.equal(readReportLog([...noise, ...lines].join('\n')), text)
    }),
    { numRuns: 50 },
  )
})

test('no line is longer than a container runtime writes as one', () => {
  const lines = writeReportLog('x'.repeat(100_000)).split('\n')
  assert.ok(lines.length > 20)
  assert.ok(lines.every((line) => line.length < 8_192))
})

test('a log that lost a line, or a byte, holds no report', () => {
  const whole = writeReportLog(JSON.stringify({ text: 'ü'.repeat(9_000) }))
  fc.assert(
    fc.property(fc.nat(whole.length - 2), fc.nat(2), (at, kind) => {
      const changed = whole[at] === 'A' ? 'B' : 'A'
      const damaged = kind === 0 ? whole.slice(0, at) : kind === 1 ? `${whole.slice(0, at)}${changed}${whole.slice(at + 1)}` : `${whole.slice(0, at)}${whole.slice(at + 5)}`
      assert.throws(() => readReportLog(damaged), unavailable)
    }),
    { numRuns: 200 },
  )
  const lines = whole.split('\n')
  for (let i = 0; i < lines.length - 1; i++) assert.throws(() => readReportLog(lines.toSpliced(i, 1).join('\n')), unavailable)
  for (const log of ['', 'some words', 'mlops-report end 0 99999999 ' + '0'.repeat(64), 'mlops-report end 999999 5 ' + '0'.repeat(64)]) assert.throws(() => readReportLog(log), unavailable)
})
