import assert from 'node:assert/strict'
import { test } from 'node:test'
import { StatusError } from '../../src/api/status.ts'
import { systemClock } from '../../src/base/clock.ts'
import { openYamlBodies } from '../../src/server/yaml-bodies.ts'

test('YAML that needs too much memory is refused with a Status, and the next body is parsed', async () => {
  // The limit of time is not what is meant here.
  const bodies = openYamlBodies({ clock: { ...systemClock, schedule: () => ({ cancel: () => {} }) } })
  const parse = async (text: string) => (await bodies.prepare(Buffer.from(text), new AbortController().signal))(text)
  try {
    const error = await parse(`a: [${'1,'.repeat(1_500_000)}1]`).then(() => assert.fail('not refused'), (reason: unknown) => reason)
    assert.ok(error instanceof StatusError, String(error))
    assert.equal(error.code, 413)
    assert.match(error.message, /this YAML takes more than 512 MiB of memory to parse; send it as JSON/)
    assert.deepEqual((await parse(`# ${'x'.repeat(20_000)}\na: 1`)).value, { a: 1 })
  } finally {
    await bodies.close()
  }
})
