/**
 * Removes what is left of namespaces that are gone. A cluster's namespace controller empties a namespace before it goes, but only of what it can reach: after an
 * outage of this server, or of its registration, objects may stay that nobody can see the namespace of.
 */
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { removeAll } from './delete.ts'
import type { NamespaceLookup } from './namespace-lifecycle.ts'
import type { ResourceStore } from './resource-store.ts'
import { internalWrite } from './write.ts'

const EVERY_MS = 5 * 60_000
// Every cluster has it: where it is not found, the answers are about something else.
const ALWAYS_THERE = 'kube-system'

/** Looks every five minutes until the signal aborts. What is found missing twice in a row is removed, in the background and with regard to finalizers. `find` must tell the present state. */
export async function sweepNamespaces(
  stores: readonly ResourceStore[], find: NamespaceLookup, { signal, clock, log }: { readonly signal: AbortSignal; readonly clock: Clock; readonly log: Log },
): Promise<void> {
  const namespaced = stores.filter(({ definition }) => definition.scope === 'Namespaced')
  let suspected: ReadonlySet<string> = new Set()
  while (!signal.aborted) {
    await clock.sleep(EVERY_MS, signal).catch(() => {})
    if (signal.aborted) return
    try {
      const missing = await missingNamespaces(namespaced, find)
      for (const namespace of missing) if (suspected.has(namespace)) await sweep(namespaced, namespace, log)
      suspected = missing
    } catch (err) {
      suspected = new Set()
      log.warn('it cannot be found out what is left of namespaces that are gone', { err })
    }
  }
}

async function missingNamespaces(stores: readonly ResourceStore[], find: NamespaceLookup): Promise<ReadonlySet<string>> {
  const used = new Set(stores.flatMap(({ cache }) => cache.list({}).entries.map(({ key }) => key.slice(0, key.indexOf('/')))))
  const missing = new Set<string>()
  for (const namespace of used) if (!(await find(namespace))) missing.add(namespace)
  if (missing.size > 0 && !(await find(ALWAYS_THERE))) throw new Error(`there is no namespace ${ALWAYS_THERE}`)
  return missing
}

async function sweep(stores: readonly ResourceStore[], namespace: string, log: Log): Promise<void> {
  for (const store of stores) {
    const { entries } = store.cache.list({ prefix: `${namespace}/` })
    if (entries.length === 0) continue
    log.warn('objects of a namespace that is gone are removed', { namespace, resource: store.resource.resource, count: entries.length })
    await removeAll(store, entries, { propagationPolicy: 'Background' }, internalWrite(store, namespace))
  }
}
