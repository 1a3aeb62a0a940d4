/** A status that the worker keeps below 96 KiB can be shown in every version of the CustomResourceDefinition: what v1alpha1 hides of it fits into its annotation. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Json } from '../src/api/object.ts'
import { resources } from '../src/resources/index.ts'
import { openConverter } from '../src/webhook/convert-object.ts'
import { makeStatus } from '../src/worker/job-status.ts'
import type { Job } from '../src/worker/job.ts'
import type { CellReport, Report } from '../src/worker/report-types.ts'
import { jsonBytes } from '../src/worker/truncate.ts'

const BUDGET = 96 * 1024
const convert = openConverter(resources)
const job = JSON.parse(resources[0]!.samples[0]!.hub) as Job

function statusOf(cells: CellReport[]) {
  const report = { verdict: { succeeded: true, reason: 'Validated', message: 'm' }, summary: { total: cells.length }, cells, truncated: false, runtime: { kernelName: 'python3', language: 'python', nbformat: '4.5' } } as unknown as Report
  return makeStatus(job, { outcome: { status: 'False', reason: 'OutputMismatch', message: 'x'.repeat(1000) }, phase: 'Failed', attempts: 1, report }, 0, BUDGET)
}

function holds(cells: CellReport[]): void {
  const status = statusOf(cells)
  assert.ok(jsonBytes(status) <= BUDGET, `${jsonBytes(status)} bytes`)
  const shown = convert({ ...job, status } as unknown as Json, 'mlops.dev/v1alpha1')
  assert.ok(JSON.stringify(shown.metadata).length > 0)
}

test('with very many small cells, and with few large ones', () => {
  const small = (index: number): CellReport => ({ index, type: 'Code', outcome: 'Succeeded' })
  holds(Array.from({ length: 3000 }, (_, index) => small(index)))
  holds(Array.from({ length: 3000 }, (_, index) => ({ ...small(index), id: 'i', comparison: { outcome: 'Matched' } })))
  holds(Array.from({ length: 50 }, (_, index) => ({ ...small(index), outcome: 'Failed', error: { message: 'm', name: 'E', value: '"'.repeat(900), traceback: '\n'.repeat(4000) } })))
  const few = Array.from({ length: 20 }, (_, index) => small(index))
  assert.deepEqual([statusOf(few).cells, statusOf(few).truncated], [few, undefined])
})

test('with any cells', () => {
  const text = fc.string({ unit: 'grapheme', maxLength: 2000 })
  const cell = fc.record({ outcome: fc.constantFrom('Succeeded', 'Failed', 'Skipped', 'NotRun'), id: text, message: text, traceback: text, output: text, compared: fc.constantFrom('Matched', 'Mismatched', 'Ignored') })
  fc.assert(fc.property(fc.array(cell, { minLength: 1, maxLength: 12 }), fc.integer({ min: 1, max: 120 }), (some, times) => {
    const cells = Array.from({ length: some.length * times }, (_, index): CellReport => {
      const { outcome, id, message, traceback, output, compared } = some[index % some.length]!
      return { index, id, type: 'Code', outcome, error: { message, name: 'E', value: message, traceback }, output: { text: output, bytes: output.length, truncated: false }, comparison: { outcome: compared } } as CellReport
    })
    holds(cells)
  }), { numRuns: 60, seed: 20261130 })
})
