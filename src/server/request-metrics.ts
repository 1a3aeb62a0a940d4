/**
 * Metrics of requests under kube-apiserver's names.
 * upstream: apiserver/pkg/endpoints/metrics/metrics.go
 */
import type { RequestHandler } from 'express'
import type { ResourceDefinition } from '../api/resource.ts'
import type { Clock } from '../base/clock.ts'
import { openMetrics, type MetricSet } from '../base/metrics.ts'
import { parseRequest, type RequestInfo } from './request-info.ts'

/** upstream: requestLatencies */
const SECONDS = [0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60]
const LABELS = ['verb', 'group', 'version', 'resource', 'subresource', 'scope'] as const
type RequestLabels = Readonly<Record<(typeof LABELS)[number], string>>

export interface RequestMetrics {
  /** Counts and times every request: the first step of the application. */
  readonly measure: RequestHandler
  /** The set, for what else is measured and for `/metrics`. */
  readonly set: MetricSet
}

/** Opens the metrics of a server of these definitions. */
export function openRequestMetrics(options: { readonly clock: Clock; readonly definitions: readonly ResourceDefinition[] }): RequestMetrics {
  const { clock } = options
  const set = openMetrics({ process: true })
  const served = new Set(options.definitions.flatMap(({ group, names, versions }) => versions.map((version) => `${group}/${version.name}/${names.plural}`)))
  const total = set.counter({ name: 'apiserver_request_total', help: 'Counter of apiserver requests broken out for each verb, group, version, resource, scope and HTTP response code.', labels: [...LABELS, 'code'] })
  const byVersion = set.counter({ name: 'mlops_requests_by_version_total', help: 'Counter of requests by the version that they speak and by who sends them: what must be zero before a version goes.', labels: ['group', 'version', 'resource', 'agent'] })
  const duration = set.histogram({
    name: 'apiserver_request_duration_seconds', help: 'Response latency distribution in seconds for each verb, group, version, resource, subresource and scope.',
    labels: LABELS, buckets: SECONDS,
  })
  const inFlight = set.gauge({ name: 'apiserver_current_inflight_requests', help: 'Number of requests under way, mutating and read-only.', labels: ['request_kind'] })
  const longRunning = set.gauge({ name: 'apiserver_longrunning_requests', help: 'Gauge of all active long-running apiserver requests broken out by verb, group, version, resource and scope.', labels: LABELS })
  for (const kind of ['mutating', 'readOnly']) inFlight.set({ request_kind: kind }, 0)
  return {
    set,
    measure(req, res, next) {
      const start = clock.monotonic()
      const info = parseRequest(req.method, req.url)
      // Only names of ours become labels: every further value of a label costs memory for ever.
      const known = info.isResourceRequest && served.has(`${info.group}/${info.version}/${info.resource}`)
      const labels = known ? resourceLabels(info, req.method) : { verb: methodLabel(req.method), ...NO_RESOURCE }
      const watching = known && info.verb === 'watch'
      const kind = { request_kind: READING.has(req.method) ? 'readOnly' : 'mutating' }
      const count = (by: number) => (watching ? longRunning.add(labels, by) : inFlight.add(kind, by))
      count(1)
      res.once('close', () => {
        count(-1)
        total.add({ ...labels, code: res.statusCode })
        if (known) byVersion.add({ group: info.group, version: info.version, resource: info.resource, agent: agentClass(req.headers['user-agent']) })
        if (!watching) duration.observe(labels, (clock.monotonic() - start) / 1000)
      })
      next()
    },
  }
}

// Few and fixed, as every label.
const AGENTS = ['kubectl', 'mlops-worker', 'mlops-storage', 'kube-controller-manager', 'kube-apiserver', 'Helm', 'argocd', 'terraform', 'curl']

function agentClass(userAgent = ''): string {
  return AGENTS.find((agent) => userAgent.toLowerCase().startsWith(agent.toLowerCase())) ?? 'other'
}

const READING = new Set(['GET', 'HEAD', 'OPTIONS'])
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'CONNECT'])
const COLLECTION_VERBS = new Set(['list', 'watch', 'deletecollection'])
const SUBRESOURCES = new Set(['status', 'scale'])
const NO_RESOURCE = { group: '', version: '', resource: '', subresource: '', scope: '' }

function methodLabel(method: string): string {
  return METHODS.has(method) ? method : 'other'
}

// upstream: cleanVerb, CleanScope
function resourceLabels({ verb, group, version, resource, subresource, namespace, name }: RequestInfo, method: string): RequestLabels {
  return {
    verb: COLLECTION_VERBS.has(verb) ? verb.toUpperCase() : methodLabel(method),
    group,
    version,
    resource,
    subresource: SUBRESOURCES.has(subresource) ? subresource : '',
    scope: name !== '' || verb === 'create' ? 'resource' : namespace !== '' ? 'namespace' : 'cluster',
  }
}
