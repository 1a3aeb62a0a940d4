/** What of a spec this worker does not act on. Nothing is ignored in silence: a field ends the job, a pod setting is told in an Event. */
import { isDeepStrictEqual } from 'node:util'
import type { JobSpec } from './job.ts'

type Rule = { readonly field: string; readonly isSet: (spec: JobSpec) => boolean }

const isSsh = (url: string | undefined): boolean => url !== undefined && !/^https?:/i.test(url)

/** The fields that end a job with the reason NotSupported, with the values that ask for something. */
const UNSUPPORTED: readonly Rule[] = [
  { field: 'spec.notebook.git.url (ssh)', isSet: ({ notebook }) => isSsh(notebook.git.url) },
  { field: 'spec.notebook.git.submodules', isSet: ({ notebook }) => (notebook.git.submodules ?? 'None') !== 'None' },
  { field: 'spec.notebook.git.lfs', isSet: ({ notebook }) => (notebook.git.lfs ?? 'None') !== 'None' },
  { field: 'spec.golden.git.url (ssh)', isSet: ({ golden }) => isSsh(golden?.git?.url) },
  { field: 'spec.golden.git.submodules', isSet: ({ golden }) => (golden?.git?.submodules ?? 'None') !== 'None' },
  { field: 'spec.golden.git.lfs', isSet: ({ golden }) => (golden?.git?.lfs ?? 'None') !== 'None' },
  { field: 'spec.metadataPolicy', isSet: ({ metadataPolicy }) => Object.entries(metadataPolicy ?? {}).some(([key, value]) => value !== undefined && !(key === 'requireCellIDs' && value === 'Optional')) },
  { field: 'spec.comparison.replacements', isSet: ({ comparison }) => (comparison?.replacements?.length ?? 0) > 0 },
  { field: 'spec.execution.parameters', isSet: ({ execution }) => (execution?.parameters?.length ?? 0) > 0 },
  { field: 'spec.results.executedNotebook', isSet: ({ results }) => results?.executedNotebook !== undefined },
]

/** The fields of a spec that this worker cannot honour. */
export function findUnsupported(spec: JobSpec): string[] {
  return UNSUPPORTED.filter(({ isSet }) => isSet(spec)).map(({ field }) => field)
}

/** Values that say nothing: they are the API's defaults. */
const POD_DEFAULTS: Readonly<Record<string, unknown>> = {
  image: 'quay.io/jupyter/datascience-notebook:latest',
  serviceAccountName: 'default',
  automountServiceAccountToken: false,
  resources: { requests: { cpu: '500m', memory: '2Gi' }, limits: { cpu: '1', memory: '4Gi' } },
}

/** The pod settings of a spec that differ from the defaults and mean nothing to processes of this machine. */
export function findIgnoredPodSettings(spec: JobSpec): string[] {
  const settings = Object.entries(spec.podTemplate ?? {}).filter(([name, value]) => value !== undefined && !isDeepStrictEqual(value, POD_DEFAULTS[name]))
  const pull = spec.imagePullTimeoutSeconds ?? 300
  return [...settings.map(([name]) => `spec.podTemplate.${name}`), ...(pull === 300 ? [] : ['spec.imagePullTimeoutSeconds'])]
}

/** That the pod settings of a spec are ignored, in words; undefined when it has none. */
export function describeIgnoredPodSettings(spec: JobSpec): string | undefined {
  const ignored = findIgnoredPodSettings(spec)
  if (ignored.length === 0) return undefined
  return `this worker runs notebooks as processes of its machine, so ${ignored.join(', ')} ${ignored.length === 1 ? 'means' : 'mean'} nothing here`
}
