/** The core kinds that standalone mode serves beside mlops.dev; in a cluster they are kube-apiserver's. */
import { events } from './events.ts'
import { namespaces } from './namespaces.ts'
import { secrets } from './secrets.ts'

export const coreResources = [namespaces, secrets, events]
