import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { runReport } from './report.ts'

test('the command ends with 0 when the report is written, else with one line', async (context) => {
  const directory = await mkdtemp(join(tmpdir(), 'report-'))
  try {
    await writeFile(join(directory, 'job.json'), '{"spec": {}}')
    assert.equal(await runReport(directory), 0)
    assert.deepEqual(await readdir(directory), ['job.json', 'report.json'])
    const lines: string[] = []
    context.mock.method(process.stderr, 'write', (line: string) => lines.push(line))
    await writeFile(join(directory, 'job.json'), '{')
    assert.equal(await runReport(directory), 1)
    context.mock.restoreAll()
    assert.deepEqual(lines, [`report: ${directory}/job.json is not JSON\n`])
  } finally {
    await rm(directory, { recursive: true })
  }
})
