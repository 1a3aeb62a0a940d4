/** One watcher: its requests, one after the other, each from where the one before had come to, and what they showed. */
import { once } from 'node:events'
import { request, type RequestOptions } from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Target } from '../send.ts'
import { GROUP, revisionOf, type Filter, type ShownEvent, type Thing } from './history-log.ts'
import type { Random } from './random.ts'

/** Where a watch begins: after a revision, with what there is at any or at the newest revision, or with what there is up to a bookmark. */
export type Start = { readonly kind: 'after'; readonly revision: number } | { readonly kind: 'any' | 'newest' } | { readonly kind: 'initial'; readonly query: string }

/** One request. `open` is the newest revision that was acknowledged when it was sent. */
export interface Segment {
  readonly start: Start
  readonly acknowledged: number
  readonly events: ShownEvent[]
  /** What it was answered instead of a stream. */
  refused?: string
  /** It was ended by us or by its time, or began only just before the end, so that it need not have shown everything. */
  ended: boolean
}

export interface Watcher {
  readonly filter: Filter
  readonly bookmarks: boolean
  readonly segments: Segment[]
  /** Resolves when the stop signal was given and the last request is closed. */
  readonly done: Promise<void>
}

const RETRY_MS = 20
/** By then a watch has shown what there was when it began. */
const SHOWN_MS = 1000

/** Watches until the signal. `newest` tells the newest acknowledged revision. */
export function openWatcher(target: Target, filter: Filter, start: Start, random: Random, newest: () => number, stop: AbortSignal): Watcher {
  const bookmarks = start.kind === 'initial' || random.chance(0.6)
  const segments: Segment[] = []
  const run = async () => {
    let next: Start = start
    while (!stop.aborted) {
      const segment: Segment = { start: next, acknowledged: newest(), events: [], ended: false }
      segments.push(segment)
      await watchOnce(target, segment, { filter, bookmarks, timeoutSeconds: random.chance(0.6) ? 1 + random.below(3) : undefined, abortAfterMs: random.chance(0.3) ? random.below(2500) : undefined }, stop)
      if (segment.refused !== undefined) return
      next = continuation(segment)
      await sleep(RETRY_MS)
    }
  }
  return { filter, bookmarks, segments, done: run() }
}

// What shows what there is must have come to its end before its revisions can be gone on from.
function continuation({ start, events }: Segment): Start {
  const last = events.at(-1)
  if (start.kind === 'after') return last === undefined ? start : { kind: 'after', revision: revisionOf(last.object) }
  if (start.kind !== 'initial') return start
  return last !== undefined && events.some(isEndOfInitial) ? { kind: 'after', revision: revisionOf(last.object) } : start
}

/** The bookmark that ends the initial events. */
export function isEndOfInitial({ type, object }: ShownEvent): boolean {
  return type === 'BOOKMARK' && (object.metadata.annotations as Record<string, string> | undefined)?.['k8s.io/initial-events-end'] === 'true'
}

interface Settings {
  readonly filter: Filter
  readonly bookmarks: boolean
  readonly timeoutSeconds: number | undefined
  readonly abortAfterMs: number | undefined
}

function pathOf({ start }: Segment, { filter, bookmarks, timeoutSeconds }: Settings): string {
  const { version, namespace, labels, fields } = filter
  const query = new URLSearchParams({ watch: 'true' })
  if (bookmarks) query.set('allowWatchBookmarks', 'true')
  if (timeoutSeconds !== undefined) query.set('timeoutSeconds', String(timeoutSeconds))
  if (labels) query.set('labelSelector', labels.text)
  if (fields) query.set('fieldSelector', fields.text)
  if (start.kind === 'after') query.set('resourceVersion', String(start.revision))
  if (start.kind === 'any') query.set('resourceVersion', '0')
  const initial = start.kind === 'initial' ? `&sendInitialEvents=true&resourceVersionMatch=NotOlderThan${start.query}` : ''
  return `/apis/${GROUP}/${version}${namespace === undefined ? '' : `/namespaces/${namespace}`}/things?${query}${initial}`
}

async function watchOnce({ url, pki: { ca, admin } }: Target, segment: Segment, settings: Settings, stop: AbortSignal): Promise<void> {
  const { hostname, port } = new URL(url)
  const options: RequestOptions = { hostname, port, path: pathOf(segment, settings), ca, cert: admin.cert, key: admin.key, agent: false, headers: { Accept: 'application/json' } }
  const end = settings.abortAfterMs === undefined ? stop : AbortSignal.any([stop, AbortSignal.timeout(settings.abortAfterMs)])
  if (end.aborted) return
  const begin = performance.now()
  const req = request({ ...options, signal: end })
  req.end()
  try {
    const [response] = (await once(req, 'response')) as [AsyncIterable<Buffer> & { statusCode: number }]
    let rest = ''
    for await (const chunk of response) {
      rest += chunk.toString('latin1')
      if (response.statusCode !== 200) continue
      const lines = rest.split('\n')
      rest = lines.pop() as string
      for (const line of lines) segment.events.push(JSON.parse(line) as { type: string; object: Thing })
    }
    if (response.statusCode !== 200) segment.refused = `${response.statusCode} ${rest}`
  } catch (error) {
    if (!end.aborted) throw error
  } finally {
    segment.ended = !stop.aborted || performance.now() - begin < SHOWN_MS
  }
}
