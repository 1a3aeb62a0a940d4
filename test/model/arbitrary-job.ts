/** NotebookValidationJobs that are valid in their version, for property tests. */
import fc from 'fast-check'
import { isObject, type Json, type JsonObject, type KubeObject } from '../../src/api/object.ts'
import type { Schema } from '../../src/api/schema.ts'
import { notebookValidationJobs } from '../../src/resources/notebookvalidationjobs/definition.ts'
import {
  environmentRules, finiteRules, mountPathRules, pathRules, patternRules, quantityRules, revisionRules, urlRules, volumeNameRules,
} from '../../src/resources/notebookvalidationjobs/rules.ts'
import { arbitraryObject } from './arbitrary-object.ts'

const urls = ['https://git.example/ml/nb.git', 'http://git.example:8080/a', 'https://git.example/ml/other.git']
const sshUrls = ['ssh://git@git.example/ml/nb.git', 'git@git.example:ml/nb.git']

const byRule = new Map<unknown, readonly string[]>([
  [revisionRules, ['main', 'v1.2', 'refs/heads/x', '0123456789abcdef0123456789abcdef01234567']],
  [pathRules, ['a/train.ipynb', 'x.ipynb', 'ä/ö.ipynb']],
  [finiteRules, ['0', '1e-8', '1.50', '0.0E+3']],
  [patternRules, ['', 'a+', '\\d{4}', '(?i)x|y']],
  [environmentRules, ['', 'A', 'PATH', 'mlops']],
  [volumeNameRules, ['data', 'v2', 'cache']],
  [mountPathRules, ['/data', '/mlopsy', '/mnt/x']],
])

// Requests that no default limit is below, and limits that no default request is above.
const requests: readonly Json[] = ['0', '100m', '1', '0.5', 1, 0]
const limits: readonly Json[] = ['4Gi', '8589934592', 8589934592, '5000000000000m']

function special(schema: Schema, path: string): fc.Arbitrary<Json> | undefined {
  const rules = schema['x-kubernetes-validations']
  if (rules === urlRules) return fc.constantFrom(...urls, ...(schema.pattern === undefined ? sshUrls : []))
  const known = byRule.get(rules)
  if (known !== undefined) return fc.constantFrom(...known)
  if (path.includes('resources.requests.')) return fc.constantFrom(...requests.filter((value) => rules !== quantityRules || typeof value === 'string'))
  if (path.includes('resources.limits.')) return fc.constantFrom(...limits.filter((value) => rules !== quantityRules || typeof value === 'string'))
  if (path.endsWith('minNbformat')) return fc.constantFrom('4.5', '4.10')
  if (path.endsWith('.conditions[].type')) return fc.constantFrom('Succeeded', 'Executed', 'Compared')
  if (path.endsWith('[].cellIndex') || path.endsWith('cells[].index')) return fc.integer({ min: 0, max: 2 })
  return undefined
}

/** Whole jobs of a version, pruned and defaulted, that its schema and its rules accept. */
export function arbitraryJob(version: string): fc.Arbitrary<KubeObject> {
  return arbitraryObject(notebookValidationJobs, version, { special, repair })
}

function repair(object: KubeObject): void {
  const spec = object.spec as JsonObject
  const comparison = (spec.comparison ?? spec.comparisonConfig) as JsonObject | undefined
  if (comparison?.reference === 'Golden' && spec.golden === undefined) delete comparison.reference
  repairPod((spec.podTemplate ?? spec.podConfig) as JsonObject | undefined)
  if (isObject(object.status)) repairStatus(object.status)
}

function repairPod(pod: JsonObject | undefined): void {
  if (pod === undefined) return
  const volumes = (pod.volumes ?? []) as JsonObject[]
  for (const volume of volumes) {
    const [source, ...others] = Object.keys(volume).filter((key) => key !== 'name')
    for (const key of others) delete volume[key]
    if (source === undefined) volume.emptyDir = {}
  }
  if (pod.volumeMounts === undefined) return
  if (volumes.length === 0) delete pod.volumeMounts
  for (const mount of (pod.volumeMounts ?? []) as JsonObject[]) mount.name = volumes[0]?.name as string
}

// What v1beta1 needs because it is flat; the other versions have none of these fields.
function repairStatus(status: JsonObject): void {
  if (status.validationPodName === undefined) delete status.validationPodUID
  if (isObject(status.summary) && status.summary.matched === undefined && status.comparisonResult === undefined) delete status.summary
  if (status.summary === undefined) delete status.comparisonResult
  for (const item of (status.cellResults ?? []) as JsonObject[]) {
    if (item.output === undefined) {
      delete item.outputBytes
      delete item.outputTruncated
    }
    if (item.errorMessage === undefined) for (const key of ['errorName', 'errorValue', 'traceback']) delete item[key]
  }
}
