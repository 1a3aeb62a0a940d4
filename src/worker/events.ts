/** Events about jobs: which ones a change of status makes (pure), and writing them without repeating them. */
import type { JsonObject } from '../api/object.ts'
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { API_VERSION, formatTime, type Job, type JobStatus, KIND, parseTime } from './job.ts'
import { isApiError, type JobClient } from './job-client.ts'
import { describeIgnoredPodSettings } from './unsupported.ts'

/** `at`: when it happened, in milliseconds since the epoch, where that is not now. */
export type JobEvent = { readonly type: 'Normal' | 'Warning'; readonly reason: string; readonly message: string; readonly at?: number }

/** The events of a change of status, in their order. */
export function eventsBetween(job: Job, before: JobStatus | undefined, after: JobStatus): JobEvent[] {
  const events: JobEvent[] = []
  const attempts = after.attempts ?? 0
  if (attempts > (before?.attempts ?? 0)) {
    const ignored = attempts === 1 && !after.podRef ? describeIgnoredPodSettings(job.spec) : undefined
    if (ignored !== undefined) events.push({ type: 'Warning', reason: 'PodTemplateIgnored', message: ignored })
  }
  const pod = after.podRef
  if (pod?.uid !== undefined && pod.uid !== before?.podRef?.uid) events.push({ type: 'Normal', reason: 'PodCreated', message: `created pod ${pod.name}` })
  // the first attempt begins when Python is prepared, which is when the job's time begins
  const first = before?.startTime === undefined
  if (after.startTime !== undefined && (first || attempts > (before.attempts ?? 0))) {
    const at = first ? parseTime(after.startTime) : undefined
    events.push({ type: 'Normal', reason: 'Started', message: `attempt ${attempts} has started`, ...(at === undefined ? {} : { at }) })
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
  const nextSuffix = suffixes(clock)
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
    const name = `${(job.metadata.name ?? '').slice(0, 230)}.${nextSuffix()}`
    await client.createEvent(namespace, toObject(job, event, name, formatTime(event.at ?? clock.now())))
    if (seen.size >= MAX_REMEMBERED) seen.delete(seen.keys().next().value!)
    seen.set(key, { name, count: 1 })
  }
  return {
    record: (job, event) => write(job, event).catch((error: unknown) => log.warn('event not written', { err: error, reason: event.reason })),
  }
}

/**
 * The ends of names: nanoseconds in hexadecimal, each greater than the one before. Clients sort events by their times,
 * which are whole seconds, and keep the order of names within one. upstream: client-go/tools/record recorderImpl.makeEvent
 */
function suffixes(clock: Clock): () => string {
  let last = 0n
  return () => {
    // the nanoseconds that the clock does not tell are random: another worker may write at the same time
    const now = BigInt(clock.now()) * 1_000_000n + BigInt(Buffer.from(clock.bytes(4)).readUInt32BE() % 1_000_000)
    last = now > last ? now : last + 1n
    return last.toString(16).padStart(16, '0')
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
