/** Events about jobs: which ones a change of status makes (pure), and writing them without repeating them. */
import type { JsonObject } from '../api/object.ts'
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { API_VERSION, formatTime, type Job, type JobStatus, KIND } from './job.ts'
import { isApiError, type JobClient } from './job-client.ts'
import { findIgnoredPodSettings } from './unsupported.ts'

export type JobEvent = { readonly type: 'Normal' | 'Warning'; readonly reason: string; readonly message: string }

/** The events of a change of status, in their order. */
export function eventsBetween(job: Job, before: JobStatus | undefined, after: JobStatus): JobEvent[] {
  const events: JobEvent[] = []
  const attempts = after.attempts ?? 0
  if (attempts > (before?.attempts ?? 0)) {
    const ignored = attempts === 1 ? findIgnoredPodSettings(job.spec) : []
    if (ignored.length > 0) {
      const verb = ignored.length === 1 ? 'means' : 'mean'
      events.push({ type: 'Warning', reason: 'PodTemplateIgnored', message: `this worker runs notebooks as processes of its machine, so ${ignored.join(', ')} ${verb} nothing here` })
    }
    events.push({ type: 'Normal', reason: 'Started', message: `attempt ${attempts} has started` })
  }
  if (after.source && before?.source?.commit !== after.source.commit) {
    events.push({ type: 'Normal', reason: 'Cloned', message: `cloned commit ${after.source.commit}` })
  }
  const message = after.message ?? ''
  if (after.reason === 'Suspended' && before?.reason !== 'Suspended') events.push({ type: 'Normal', reason: 'Suspended', message })
  if (after.reason === 'Retrying' && (before?.reason !== 'Retrying' || before.message !== message)) events.push({ type: 'Warning', reason: 'Retrying', message })
  if (after.phase === 'Succeeded' && before?.phase !== 'Succeeded') events.push({ type: 'Normal', reason: 'Succeeded', message })
  if (after.phase === 'Failed' && before?.phase !== 'Failed') events.push({ type: 'Warning', reason: 'Failed', message: `${after.reason}: ${message}` })
  if (after.truncated && !before?.truncated) events.push({ type: 'Normal', reason: 'Truncated', message: 'the results were cut to the size that a status may have' })
  return events
}

/** Writes events. An Event is a courtesy: what cannot be written is logged and left. */
export interface EventRecorder {
  record(job: Job, event: JobEvent): Promise<void>
}

const MAX_REMEMBERED = 2000
const MAX_MESSAGE = 1024
const COMPONENT = 'mlops-worker'

/** Opens a recorder: the same event about the same job again counts up instead of standing there twice. */
export function openEventRecorder(client: JobClient, clock: Clock, log: Log): EventRecorder {
  const seen = new Map<string, { name: string; count: number }>()
  const write = async (job: Job, event: JobEvent): Promise<void> => {
    const namespace = job.metadata.namespace ?? ''
    const key = JSON.stringify([job.metadata.uid, event.type, event.reason, event.message])
    const known = seen.get(key)
    if (known) {
      const count = known.count + 1
      try {
        await client.patchEvent(namespace, known.name, { count, lastTimestamp: formatTime(clock.now()) })
        seen.set(key, { name: known.name, count })
        return
      } catch (error) {
        // events expire; the next one is new
        if (!isApiError(error, 404)) throw error
      }
    }
    const name = `${(job.metadata.name ?? '').slice(0, 230)}.${Buffer.from(clock.bytes(8)).toString('hex')}`
    await client.createEvent(namespace, toObject(job, event, name, formatTime(clock.now())))
    if (seen.size >= MAX_REMEMBERED) seen.delete(seen.keys().next().value!)
    seen.set(key, { name, count: 1 })
  }
  return {
    record: (job, event) => write(job, event).catch((error: unknown) => log.warn('event not written', { err: error, reason: event.reason })),
  }
}

function toObject(job: Job, event: JobEvent, name: string, time: string): JsonObject {
  const { namespace = '', uid = '', resourceVersion = '' } = job.metadata
  const message = event.message.length > MAX_MESSAGE ? `${event.message.slice(0, MAX_MESSAGE - 1)}…` : event.message
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name, namespace },
    involvedObject: { apiVersion: API_VERSION, kind: KIND, namespace, name: job.metadata.name ?? '', uid, resourceVersion },
    reason: event.reason,
    message,
    type: event.type,
    source: { component: COMPONENT },
    reportingComponent: COMPONENT,
    reportingInstance: COMPONENT,
    firstTimestamp: time,
    lastTimestamp: time,
    count: 1,
  }
}
