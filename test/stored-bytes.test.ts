/** Stored bytes of every release are read, for ever, as the objects that they were. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { openEnvelope } from '../storage/envelope.ts'
import { examine, reencode } from '../storage/object-codec.ts'
import { migrationCodec } from '../src/registry/migration-codec.ts'
import { checkSamples } from '../src/registry/self-test.ts'
import { createStorageCodec } from '../src/registry/storage-codec.ts'
import { notebookValidationJobs } from '../src/resources/notebookvalidationjobs/definition.ts'
import { storedSamples } from '../src/resources/notebookvalidationjobs/stored-samples.ts'
import { resources } from '../src/resources/index.ts'

interface Line {
  readonly version: string
  readonly value: string
  readonly hub: string
}

const { definition, conversion } = resources.find((served) => served.definition === notebookValidationJobs)!
const codec = migrationCodec(definition, createStorageCodec(definition, conversion))
const COMPAT = join(import.meta.dirname, 'compat')
const releases = globSync('stored-*.jsonl', { cwd: COMPAT })

test('there are bytes of every version', () => {
  assert.ok(releases.length > 0)
  for (const release of releases) assert.deepEqual([...new Set(read(release).map(({ version }) => version))].sort(), ['v1', 'v1alpha1', 'v1beta1'])
})

for (const release of releases) {
  test(`${release}: each value is the object that it was, and can be written at every version`, () => {
    for (const [i, { version, value, hub }] of read(release).entries()) {
      const bytes = Buffer.from(value, 'base64')
      const where = `line ${i + 1}`
      assert.equal(openEnvelope(bytes).version, version, where)
      assert.equal(codec.canonical(codec.decode(bytes)), hub, where)
      const { key } = codec.identity(bytes)
      assert.equal(examine(codec, key, bytes), undefined, where)
      for (const target of definition.versions) {
        const made = reencode(codec, bytes, target.name)
        assert.ok('value' in made, `${where} at ${target.name}: ${'message' in made ? made.message : ''}`)
        assert.equal(codec.canonical(codec.decode(made.value)), hub, where)
      }
    }
  })
}

test('the program reads its own samples', () => {
  checkSamples(codec, storedSamples)
  assert.deepEqual(storedSamples.map(({ value }) => openEnvelope(Buffer.from(value, 'base64')).version), ['v1alpha1', 'v1beta1', 'v1', 'v1alpha1'])
})

function read(release: string): Line[] {
  return readFileSync(join(COMPAT, release), 'utf8').trimEnd().split('\n').map((line) => JSON.parse(line) as Line)
}
