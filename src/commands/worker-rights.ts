/** What the worker of a standalone server may do. In a cluster its ClusterRole says it (src/commands/manifests). */
import type { PolicyRule } from '../../apiservice/rules.ts'

/** The user of the worker's client certificate. */
export const WORKER_USER = 'mlops-worker'

/** Its rights: to follow and report jobs, delete those whose time after their end is over, read the Secrets that they name, tell of them in Events. */
export const WORKER_RULES: readonly PolicyRule[] = [
  { apiGroups: ['mlops.dev'], resources: ['notebookvalidationjobs'], verbs: ['get', 'list', 'watch', 'delete'] },
  { apiGroups: ['mlops.dev'], resources: ['notebookvalidationjobs/status'], verbs: ['get', 'patch'] },
  { apiGroups: [''], resources: ['secrets'], verbs: ['get'] },
  { apiGroups: [''], resources: ['events'], verbs: ['create', 'patch'] },
]
