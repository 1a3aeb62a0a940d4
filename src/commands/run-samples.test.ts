import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describeSurprise } from './run-samples.ts'
import { SAMPLES } from './samples.ts'

test('a sample that does not end as it should says why', () => {
  const job = (status: Record<string, string>) => ({ apiVersion: 'mlops.dev/v1', kind: 'NotebookValidationJob', metadata: {}, status })
  assert.deepEqual(SAMPLES.map((sample) => describeSurprise(sample, job({ reason: sample.ends, message: 'm' }))), [undefined, undefined, undefined])
  const broken = job({ phase: 'Failed', reason: 'RunnerUnavailable', message: 'Python was not found as "/nonexistent"' })
  assert.deepEqual(SAMPLES.map((sample) => describeSurprise(sample, broken)), [
    'sample-passes should have ended with Validated, it is RunnerUnavailable: Python was not found as "/nonexistent"',
    'sample-differs should have ended with OutputMismatch, it is RunnerUnavailable: Python was not found as "/nonexistent"',
    'sample-raises should have ended with NotebookFailed, it is RunnerUnavailable: Python was not found as "/nonexistent"',
  ])
})
