/** What the generated conversations are about: the recorded definitions, each version of our own as a definition of its own, and any others. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { encodeJson } from '../../../src/api/codec.ts'
import { printDefinition } from '../../../src/api/definition-print.ts'
import { Float, type Json, type JsonObject } from '../../../src/api/object.ts'
import type { ResourceDefinition } from '../../../src/api/resource.ts'
import type { Schema } from '../../../src/api/schema.ts'
import { loadDefinitions } from '../../../src/commands/load-definitions.ts'
import { notebookValidationJobs } from '../../../src/resources/notebookvalidationjobs/definition.ts'
import { arbitraryJob } from '../../model/arbitrary-job.ts'
import { arbitraryValue, type Special } from '../../model/arbitrary-object.ts'
import { loadDefinition } from '../serve.ts'

/** A kind that is talked about. */
export interface LiveKind {
  readonly definition: ResourceDefinition
  /** How often it is chosen. */
  readonly weight: number
  /** The manifest that it was read from; without one it is printed. */
  readonly manifest?: string
  /** Bodies without metadata, mostly valid, by version. */
  readonly samples: ReadonlyMap<string, readonly JsonObject[]>
}

const SAMPLES = 250
/** Of definitions that are large. */
const FEW_SAMPLES = 60

/** The kinds, with samples made from the seed. */
export function liveKinds(seed: number): LiveKind[] {
  const recorded = [['widgets', 5], ['gadgets', 1], ['notebookvalidationjobs', 2], ['crontabs', 4], ['routes', 2], ['policies', 2]] as const
  return [
    ...recorded.map(([name, weight]) => {
      const definition = loadDefinition(name)
      return { definition, weight, samples: new Map(definition.versions.map((version) => [version.name, sample(arbitraryBody(version.schema, special), seed)])) }
    }),
    ...notebookValidationJobs.versions.map(({ name }) => {
      const jobs = arbitraryJob(name).map(withoutType)
      return { definition: copyOf(name), weight: 1.5, samples: new Map([[name, sample(jobs, seed)]]) }
    }),
  ]
}

/** The kinds of the manifests (JSON) in a folder, which are those of public projects. `say` is told of what is not served. */
export async function foreignKinds(folder: string, seed: number, say: (text: string) => void): Promise<LiveKind[]> {
  const kinds: LiveKind[] = []
  for (const file of readdirSync(folder).filter((name) => name.endsWith('.json')).sort()) {
    const path = join(folder, file)
    try {
      for (const { definition } of await loadDefinitions([path])) {
        const served = definition.versions.filter((version) => version.served)
        const samples = new Map(served.map((version) => [version.name, sample(arbitraryBody(version.schema, matching), seed, FEW_SAMPLES)]))
        kinds.push({ definition, weight: 1, manifest: readFileSync(path, 'utf8'), samples })
      }
    } catch (error) {
      say(`left out: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  return kinds
}

/** The manifests that install the kinds, as JSON. */
export const manifests = (kinds: readonly LiveKind[]): string[] => kinds.map(({ definition, manifest }) => manifest ?? encodeJson(printDefinition(definition)))

// A kube-apiserver converts between our versions only through a webhook, so each has a group to itself.
function copyOf(version: string): ResourceDefinition {
  const versions = notebookValidationJobs.versions.filter(({ name }) => name === version).map((found) => ({ ...found, served: true, storage: true }))
  return { ...notebookValidationJobs, group: `${version}.mlops.example`, versions }
}

const withoutType = <T extends object>(whole: T): Omit<T, 'apiVersion' | 'kind' | 'metadata'> => {
  const { apiVersion: _apiVersion, kind: _kind, metadata: _metadata, ...rest } = whole as T & { apiVersion?: unknown; kind?: unknown; metadata?: unknown }
  return rest
}

const sample = (arbitrary: fc.Arbitrary<JsonObject>, seed: number, numRuns = SAMPLES): JsonObject[] => fc.sample(arbitrary, { seed, numRuns })

function arbitraryBody(schema: Schema, special: Special): fc.Arbitrary<JsonObject> {
  return arbitraryValue({ ...schema, properties: withoutType(schema.properties ?? {}) }, special) as fc.Arbitrary<JsonObject>
}

const VALUES: Readonly<Record<string, readonly Json[]>> = {
  'spec.name': ['ab', 'abcdefgh', 'widget'],
  'spec.replicas': [0, 1, 5, 100],
  'spec.minReplicas': [0, 0, 1],
  'spec.step': [5, 10, -15, 0],
  'spec.ratio': [0.5, 99, 1.25, new Float(2), 3],
  'spec.when': ['2026-01-02T03:04:05Z', '2026-01-02T03:04:05.123456+01:00', '2020-02-29T00:00:00-08:00'],
  'spec.day': ['2026-01-02', '2024-02-29'],
  'spec.took': ['1h', '90s', '1h30m', '1.5s', '1d', '2w'],
  'spec.blob': ['', 'aGVsbG8=', 'AAEC'],
  'spec.addr': ['10.0.0.1', '255.255.255.255'],
  'spec.id': ['12345678-1234-1234-1234-123456789abc'],
  'spec.mail': ['a@example.com', '"A" <a@example.com>'],
  'spec.link': ['https://example.com/a?b=c', '/x', 'mailto:a@b'],
  'spec.shortName': ['a', 'abc-1'],
  'spec.quantity': ['1', '500m', '1Gi', '9.9Gi', '1e3'],
  'spec.cidr': ['10.0.0.0/8', '::/0', '192.168.0.0/24'],
  'spec.port': [80, 'http', '80'],
  'spec.percent': ['50%', '100%', 5],
  'spec.tmpl': [{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p', labels: { a: 'b' } }, spec: { x: 1 } }, { apiVersion: 'apps/v1', kind: 'Deployment' }],
  'spec.union': [{ a: 'x' }, { b: 'x' }, { a: 'x', c: 2 }],
  'spec.ports[].name': ['p1', 'p2', 'p3', 'p4'],
  'spec.timeoutSeconds': [60, 3600, 86400],
  'spec.cronSpec': ['* * * * *', '*/5 1 2 3 *'],
  'spec.target.host': ['localhost', 'example.com'],
  'spec.weight': [0, 1, 0.5, new Float(1)],
  'spec.rules[].timeout': ['5s', '1h30m', '10ms'],
  'spec.rules[].backendRefs[].name': ['a', 'b'],
  'spec.hostnames[]': ['a.example', '*.b'],
  'spec.template': [{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' } }, { apiVersion: 'apps/v1', kind: 'Deployment', spec: { size: 3 } }],
  'spec.resources.limits.*': [1, '500m', '2Gi'],
  'spec.level': [1, 2, 3],
  'spec.deadline': [0, 100, null],
  'status.selector': ['app=a', 'app in (a,b)', ''],
}

function special(schema: Schema, path: string): fc.Arbitrary<Json> | undefined {
  const values = VALUES[path]
  return values === undefined ? matching(schema) : fc.constantFrom(...values)
}

// What Go's patterns have and those of fast-check lack.
function matching(schema: Schema): fc.Arbitrary<Json> | undefined {
  if (schema.pattern === '^https?://.*') return fc.constantFrom('https://git.example/a.git', 'http://git.example/b')
  return schema.pattern === undefined || isUnderstood(schema.pattern) ? undefined : fc.constantFrom('a', '5s', '10', 'a.example.com')
}

function isUnderstood(pattern: string): boolean {
  try {
    fc.stringMatching(new RegExp(pattern))
    return true
  } catch {
    return false
  }
}
