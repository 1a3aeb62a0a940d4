/** Follows the sample jobs of a first start until each has ended, and tells what came out. */
import { getKey, isObject, type KubeObject } from '../api/object.ts'
import { columnDefinitions, compileColumns, tableRow } from '../api/table.ts'
import { requestVersion, type ResourceStore } from '../registry/resource-store.ts'
import type { Clock } from '../base/clock.ts'
import { COULD_NOT_RUN, type Sample, SAMPLES } from './samples.ts'
import { formatTable, type ProgressDisplay } from './show-progress.ts'

const VERSION = 'v1'

/** Resolves when all samples are finished (or the signal aborts); true when each of them exists and is finished. */
export async function followSamples(jobs: ResourceStore, progress: ProgressDisplay, signal: AbortSignal): Promise<boolean> {
  const waiting = new Set(SAMPLES.map(({ name }) => name))
  const done = new AbortController()
  for await (const items of jobs.cache.watch({ prefix: 'default/', initialEvents: true, signal: AbortSignal.any([signal, done.signal]) })) {
    for (const item of items) {
      const name = item.type === 'BOOKMARK' ? '' : item.entry.key.slice('default/'.length)
      if (item.type === 'BOOKMARK' || !waiting.has(name)) continue
      const state = describe(jobs.codec.view(jobs.codec.open(item.entry.value), VERSION))
      progress.update(name, state)
      if (state.finished || item.type === 'DELETED') waiting.delete(name)
    }
    if (waiting.size === 0) done.abort()
  }
  return waiting.size === 0
}

function describe(job: KubeObject): { done: number; total: number; message: string; finished: boolean } {
  const status = member(job, 'status')
  const summary = member(status, 'summary')
  const cells = getKey(status, 'cells')
  const ended = Array.isArray(cells) ? cells.filter((cell) => isObject(cell) && cell.outcome !== 'NotRun').length : 0
  const total = Number(summary.code ?? 0)
  const finished = status.phase === 'Succeeded' || status.phase === 'Failed'
  const reason = String(status.reason ?? 'Pending')
  return { done: finished ? total : Math.min(ended, total), total, finished, message: total > 0 && !finished ? `${reason}, ${ended} of ${total} cells` : reason }
}

function member(object: Record<string, unknown>, name: string): Record<string, never> {
  const value = Object.hasOwn(object, name) ? object[name] : undefined
  return (isObject(value) ? value : {}) as Record<string, never>
}

/** The samples as `kubectl get` shows them, and below what went wrong with those that did not end as they should. */
export function sampleTable(jobs: ResourceStore, clock: Clock): string {
  const columns = compileColumns(requestVersion(jobs, VERSION))
  const shown = columnDefinitions(columns).map((column, i) => ({ column, i })).filter(({ column }) => column.priority === 0)
  const known = SAMPLES.flatMap((sample) => {
    const entry = jobs.cache.get(`default/${sample.name}`)
    return entry ? [{ sample, job: jobs.codec.view(jobs.codec.open(entry.value), VERSION) }] : []
  })
  const rows = known.map(({ job }) => {
    const cells = tableRow(job, columns, clock.now())
    return shown.map(({ i }) => String(cells[i] ?? ''))
  })
  const surprises = known.flatMap(({ sample, job }) => describeSurprise(sample, job) ?? [])
  return [formatTable([shown.map(({ column }) => column.name.toUpperCase()), ...rows]), ...(surprises.length > 0 ? ['', ...surprises] : [])].join('\n')
}

/** True when a sample failed because nothing can run here: no Python, no room. */
export function couldNotRun(jobs: ResourceStore): boolean {
  return SAMPLES.some(({ name }) => {
    const entry = jobs.cache.get(`default/${name}`)
    return entry !== undefined && getKey(member(jobs.codec.open(entry.value), 'status'), 'reason') === COULD_NOT_RUN
  })
}

/** Why a sample ended otherwise than it should; undefined when it did not. */
export function describeSurprise({ name, ends }: Sample, job: KubeObject): string | undefined {
  const { reason, message } = member(job, 'status')
  return String(reason) === ends ? undefined : `${name} should have ended with ${ends}, it is ${String(reason ?? 'Pending')}: ${String(message ?? '')}`
}
