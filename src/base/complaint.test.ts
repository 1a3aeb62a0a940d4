import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openComplaint } from './complaint.ts'
import { silentLog } from './log.ts'

test('a reason is said once, until it is another one or all was well meanwhile', () => {
  const lines: unknown[] = []
  const complaint = openComplaint({ ...silentLog, warn: (message, fields) => lines.push([message, fields]) }, 'it fails', { name: 'a' })
  for (const reason of ['x', 'x', 'y', 'x']) complaint.failed(new Error(reason))
  complaint.well()
  complaint.failed('x')
  complaint.failed('x')
  assert.deepEqual(lines, ['x', 'y', 'x', 'x'].map((problem) => ['it fails', { name: 'a', problem }]))
})
