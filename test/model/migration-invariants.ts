/** The invariants of the versions, checked after each commit of a simulation. */
import assert from 'node:assert/strict'
import type { KeyValue } from '../../storage/backend.ts'
import { fenceKey, parseFence, storedVersionNames } from '../../storage/fence-record.ts'
import type { LoadedFence } from '../../storage/fence-record.ts'
import { accountOf, addCounters, jobKey, parseCheckpoint, parseJob } from '../../storage/migrate-job.ts'
import type { Effect, State } from './simulation.ts'
import { openTwin } from './twin-codec.ts'

export const RESOURCE = 'twins'
export const PREFIX = `data/${RESOURCE}/`
const FENCE = fenceKey(RESOURCE)

const isObject = (key: string): boolean => key.startsWith(PREFIX)
const isMigrator = (actor: string): boolean => actor.startsWith('migrator')
const under = (state: State, prefix: string): KeyValue[] => [...state.values()].filter(({ key }) => key.startsWith(prefix))
const fenceIn = (state: State): LoadedFence | undefined => (state.has(FENCE) ? parseFence(FENCE, state.get(FENCE)) : undefined)

/** Makes a check of its own for one run. */
export function openInvariants(): (effect: Effect) => void {
  const rewrites = new Map<string, number>()
  return (effect) => {
    const fence = fenceIn(effect.after)
    if (!fence) return
    checkStoredVersions(effect.after, fence)
    checkReplicas(effect.after, fence)
    checkFenceChange(effect, fence)
    checkObjectWrite(effect)
    countRewrites(effect, fence, rewrites)
  }
}

function checkStoredVersions(after: State, fence: LoadedFence): void {
  for (const kv of under(after, PREFIX)) {
    const { version } = openTwin(kv.value)
    assert.ok(storedVersionNames(fence).includes(version), `I-1: ${kv.key} is at ${version}, storedVersions are ${storedVersionNames(fence)}`)
  }
}

function checkReplicas(after: State, fence: LoadedFence): void {
  for (const kv of under(after, `meta/replicas/${RESOURCE}/`)) {
    const { id, decodable } = JSON.parse(Buffer.from(kv.value).toString()) as { id: string; decodable: string[] }
    assert.ok(storedVersionNames(fence).every((version) => decodable.includes(version)), `I-3: ${id} serves and cannot decode all of ${storedVersionNames(fence)}`)
  }
}

function checkFenceChange({ actor, before, after }: Effect, fence: LoadedFence): void {
  const old = fenceIn(before)
  if (!old || old.modRevision === fence.modRevision) return
  assert.ok(fence.epoch >= old.epoch, 'the epoch went back')
  if (isMigrator(actor)) assert.equal(fence.mode, old.mode, 'a migration changed the mode')
  if (isMigrator(actor) && old.job !== undefined) assert.equal(fence.encodingVersion, old.encodingVersion, 'a migration changed the encoding')
  const gone = storedVersionNames(old).filter((version) => !storedVersionNames(fence).includes(version))
  if (gone.length === 0) return
  assert.deepEqual(under(before, `meta/quarantine/${RESOURCE}/`), [], 'I-4: trimmed with something in quarantine')
  for (const kv of under(after, PREFIX)) assert.ok(!gone.includes(openTwin(kv.value).version), `I-4: ${kv.key} is at a version that was trimmed`)
}

function checkObjectWrite({ actor, request, before, after }: Effect): void {
  const written = [...(request.put ?? []).map(({ key }) => key), ...(request.delete ?? [])].filter(isObject)
  assert.ok(written.length <= 1, 'I-8: two objects in one transaction')
  const [key] = written
  const old = fenceIn(before)
  if (key === undefined || !old) return
  const [previous, made] = [before.get(key), after.get(key)]
  assert.equal(old.mode, 'ReadWrite', 'an object was written while writes were refused')
  if (made) assert.equal(openTwin(made.value).version, old.encodingVersion, 'I-2: written at another version than the fence says')
  if (!isMigrator(actor)) return
  assert.ok(made && previous, 'I-6: a migration made or deleted an object')
  assert.equal(openTwin(made.value).text, openTwin(previous.value).text, 'I-5: a migration changed an object')
}

/** I-9: at every moment the counters say exactly what was done. */
function countRewrites({ actor, request, after }: Effect, fence: LoadedFence, rewrites: Map<string, number>): void {
  const id = fence.job
  if (id === undefined) return
  if (isMigrator(actor) && request.put?.some(({ key }) => isObject(key))) rewrites.set(id, (rewrites.get(id) ?? 0) + 1)
  const record = after.get(jobKey(RESOURCE, id))
  if (!record) return
  const last = addCounters(...under(after, `${jobKey(RESOURCE, id)}/`).map((kv) => parseCheckpoint(kv).counters))
  assert.equal(accountOf(parseJob(record), last).rewritten, rewrites.get(id) ?? 0, 'I-9: the counters are wrong')
}
