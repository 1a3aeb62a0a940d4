/**
 * Chains of writes by several managers, through two versions and the status, with the answers of upstream's own code
 * (k8s.io/apimachinery v0.36.3 managedfields, structured-merge-diff v6.3.3). One line a write; `object` is the object that came out,
 * else `code` and `message`. Each write starts from the object that the one before it left, unless `cleared` says that it was not tracked.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { encodeJson } from '../json-encode.ts'
import { decodeJson } from '../json-parse.ts'
import type { Json, JsonObject, KubeObject } from '../object.ts'
import { StatusError } from '../status.ts'
import { applyPatch } from './apply.ts'
import { rename, things } from './thing.fixture.ts'
import { trackUpdate } from './update.ts'

interface Recorded extends JsonObject {
  chain: number
  op: 'update' | 'apply'
  version: string
  subresource: '' | 'status'
  manager: string
  force: boolean
  now: string
  next: KubeObject
}

const recorded = readFileSync(join(import.meta.dirname, 'recorded.jsonl'), 'utf8').trimEnd().split('\n').map((line) => decodeJson(line).value as Recorded)

function write({ op, version, subresource, manager, force, now, next }: Recorded, live: KubeObject | undefined): JsonObject {
  const base = { definition: things, version, subresource, live, manager, now: Date.parse(now) }
  try {
    return { object: op === 'update' ? trackUpdate({ ...base, next }) : applyPatch({ ...base, config: next, force }) }
  } catch (error) {
    if (!(error instanceof StatusError)) throw error
    return { code: error.code, message: error.message }
  }
}

// What a registry makes of a write: it has an identity, and its status comes through the subresource only, which changes nothing else.
function stored(object: KubeObject, { subresource }: Recorded, live: KubeObject | undefined): KubeObject {
  if (live !== undefined && subresource === 'status') {
    return { ...live, metadata: { ...live.metadata, managedFields: object.metadata.managedFields }, status: object.status } as KubeObject
  }
  const metadata = { ...object.metadata, uid: 'u', resourceVersion: '1', creationTimestamp: '2020-01-01T00:00:00Z' }
  return { ...object, metadata, status: live?.status } as KubeObject
}

test('every write has the answer of upstream', () => {
  let live: KubeObject | undefined
  let chain: number | undefined
  for (const [i, step] of recorded.entries()) {
    if (step.chain !== chain) live = undefined
    chain = step.chain
    const before = live && rename(live, step.version)
    const text = before && encodeJson(before)
    const answer = write(step, before)
    const expected: JsonObject = step.object === undefined ? { code: step.code, message: step.message } : { object: step.object }
    assert.equal(encodeJson(answer), encodeJson(expected as Json), `line ${i + 1}`)
    assert.equal(before && encodeJson(before), text, 'the live object was changed')
    if (step.object !== undefined && !step.cleared) live = stored(step.object as KubeObject, step, live)
  }
})
