/**
 * Refuses creations in a namespace that is unknown or being deleted.
 * upstream: apiserver/pkg/admission/plugin/namespace/lifecycle/admission.go
 */
import { forbidden, notFound } from '../api/status.ts'
import type { AdmissionPlugin } from './admission.ts'

/** What is known of a namespace; undefined: there is none. */
export type NamespaceLookup = (name: string) => Promise<{ readonly terminating: boolean } | undefined>

/** The plugin. `lookup` reads the namespace's latest state. */
export function namespaceLifecycle(lookup: NamespaceLookup): AdmissionPlugin {
  return {
    async admit(request) {
      if (request.operation !== 'CREATE' || request.definition.scope !== 'Namespaced') return undefined
      const namespace = await lookup(request.namespace)
      if (!namespace) throw notFound({ group: '', resource: 'namespaces' }, request.namespace)
      if (namespace.terminating) {
        const meta = request.object?.metadata
        const name = meta?.name || meta?.generateName || 'Unknown'
        throw forbidden(
          { group: request.definition.group, resource: request.definition.names.plural },
          name,
          `unable to create new content in namespace ${request.namespace} because it is being terminated`,
          [{ reason: 'NamespaceTerminating', message: `namespace ${request.namespace} is being terminated`, field: 'metadata.namespace' }],
        )
      }
      return undefined
    },
  }
}
