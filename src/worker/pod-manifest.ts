/** The pod of an attempt, as it is created: a pure function of the job, the attempt and the worker's settings. */
import { isObject, type Json, type JsonObject } from '../api/object.ts'
import { AttemptError } from './attempt-failure.ts'
import { API_VERSION, type Job, type JobSpec, KIND } from './job.ts'
import { GATE, JOB_LABEL, podNameOf } from './pod.ts'

/** What the worker decides about pods, beside what a job says. */
export type PodSettings = {
  /** The image of this program: clone and report run in it. */
  readonly image: string
  /** How it is pulled. Default: the cluster's. */
  readonly imagePullPolicy?: string
}

export type PodRequest = {
  readonly job: Job
  readonly number: number
  /** When the job's first attempt began, in milliseconds since the epoch; absent for the first. */
  readonly startedAt?: number
  readonly now: number
}

/** Where the volumes are in the containers. Jobs may mount nothing under /mlops. */
export const WORK = '/mlops/work'
export const REFERENCE = '/mlops/reference'
export const SECRETS = '/mlops/secrets'
/** The attempt as the containers of this program read it: base64 of JSON, since a kubelet expands `$(…)` in values. */
export const ATTEMPT_VARIABLE = 'MLOPS_POD_ATTEMPT'

/** The image of a job that names none: the API's default, for objects that are older than it. */
const DEFAULT_IMAGE = 'quay.io/jupyter/datascience-notebook:latest'
const DEFAULT_RESOURCES = { requests: { cpu: '500m', memory: '2Gi' }, limits: { cpu: '1', memory: '4Gi' } }
const CLONE_RESOURCES = { requests: { cpu: '50m', memory: '64Mi' }, limits: { memory: '1Gi' } }
const REPORT_RESOURCES = { requests: { cpu: '50m', memory: '128Mi' }, limits: { memory: '1Gi' } }
/** Images of Jupyter run as this user; the volumes are shared with our containers, so all run as one. */
const USER = 1000
const TOKEN_SECONDS = 3607

/** What the containers clone and report are told; `startedAt` as in PodRequest. */
export type AttemptInput = { readonly id: string; readonly namespace: string; readonly startedAt?: number; readonly spec: Omit<JobSpec, 'podTemplate'> }

/** Linux takes no longer variable (MAX_ARG_STRLEN), name included. */
const MAX_INPUT_BYTES = 128 * 1024 - 64

/** The manifest. Throws AttemptError with PodConfigInvalid for a job that is too large for one, or asks for more than it may have. */
export function makePod({ job, number, startedAt, now }: PodRequest, settings: PodSettings): JsonObject {
  const { podTemplate: template = {}, ...spec } = job.spec
  const input: AttemptInput = { id: `${job.metadata.uid}.${number}`, namespace: job.metadata.namespace ?? '', ...(startedAt === undefined ? {} : { startedAt }), spec }
  const deadline = (startedAt ?? now) + Number(spec.activeDeadlineSeconds ?? 3600) * 1000
  const told = Buffer.from(JSON.stringify(input)).toString('base64')
  if (told.length > MAX_INPUT_BYTES) throw new AttemptError('Final', 'PodConfigInvalid', 'the spec of the job is too large to be handed to a pod')
  const own = {
    image: settings.image,
    ...(settings.imagePullPolicy ? { imagePullPolicy: settings.imagePullPolicy } : {}),
    env: [{ name: ATTEMPT_VARIABLE, value: told }, { name: 'TMPDIR', value: '/tmp' }],
    securityContext: confined(),
  }
  const secrets = secretsOf(job.spec)
  const { metadata, serviceAccountName, volumes, securityContext } = template
  return plain({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: podNameOf(job, number),
      namespace: job.metadata.namespace,
      labels: { ...metadata?.labels, [JOB_LABEL]: job.metadata.uid },
      annotations: metadata?.annotations,
      ownerReferences: [{ apiVersion: API_VERSION, kind: KIND, name: job.metadata.name, uid: job.metadata.uid, controller: true }],
    },
    spec: {
      schedulingGates: [{ name: GATE }],
      restartPolicy: 'Never',
      activeDeadlineSeconds: Math.max(1, Math.ceil((deadline - now) / 1000)),
      terminationGracePeriodSeconds: 15,
      serviceAccountName,
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      ...passedOn(template),
      securityContext: confinePod((securityContext ?? {}) as JsonObject),
      initContainers: [{ ...own, name: 'clone', args: ['pod-step', 'clone'], resources: CLONE_RESOURCES, volumeMounts: [WORK_MOUNT, REFERENCE_MOUNT, mount('mlops-tmp-clone', '/tmp'), ...secrets.map(({ mount: at }) => at)] }],
      containers: [
        makeExecute(template),
        { ...own, name: 'report', args: ['pod-step', 'report'], resources: REPORT_RESOURCES, volumeMounts: [{ ...WORK_MOUNT, readOnly: true }, REFERENCE_MOUNT, mount('mlops-tmp-report', '/tmp')] },
      ],
      volumes: [
        ...['mlops-work', 'mlops-tmp', 'mlops-reference', 'mlops-tmp-clone', 'mlops-tmp-report'].map((name) => ({ name, emptyDir: {} })),
        ...secrets.map(({ volume }) => volume),
        ...(template.automountServiceAccountToken ? [tokenVolume()] : []),
        ...((volumes ?? []) as unknown as JsonObject[]),
      ],
    },
  }) as JsonObject
}

type Template = NonNullable<JobSpec['podTemplate']>

const mount = (name: string, mountPath: string): { name: string; mountPath: string } => ({ name, mountPath })
const WORK_MOUNT = mount('mlops-work', WORK)
const REFERENCE_MOUNT = mount('mlops-reference', REFERENCE)

/** Fields of the pod that are the job's alone. */
function passedOn({ imagePullSecrets, priorityClassName, runtimeClassName, nodeSelector, tolerations, affinity, topologySpreadConstraints }: Template): object {
  return { imagePullSecrets, priorityClassName, runtimeClassName, nodeSelector, tolerations, affinity, topologySpreadConstraints }
}

/** What the profile `restricted` forbids is refused: who may create a job need not be one who may create any pod. */
function confinePod(asked: JsonObject): JsonObject {
  const { runAsNonRoot, runAsUser, seccompProfile, windowsOptions } = asked
  const refused = [
    ...(runAsNonRoot === false ? ['runAsNonRoot: false'] : []),
    ...(runAsUser === 0 ? ['runAsUser: 0'] : []),
    ...(isObject(seccompProfile) && seccompProfile.type === 'Unconfined' ? ['seccompProfile.type: Unconfined'] : []),
    ...(windowsOptions === undefined ? [] : ['windowsOptions']),
  ]
  if (refused.length > 0) throw new AttemptError('Final', 'PodConfigInvalid', `spec.podTemplate.securityContext has ${refused.join(', ')}, which the pods of jobs may not have`)
  return { runAsUser: USER, runAsGroup: USER, fsGroup: USER, seccompProfile: { type: 'RuntimeDefault' }, ...asked, runAsNonRoot: true }
}

/** What the profile `restricted` of Pod Security asks for, and a root file system that nobody writes to. */
function confined(): object {
  return { allowPrivilegeEscalation: false, privileged: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } }
}

/** The user's image; python3 of its PATH runs the runner that the container clone has brought. */
function makeExecute(template: Template): object {
  const token = template.automountServiceAccountToken ? [{ ...mount('mlops-token', '/var/run/secrets/kubernetes.io/serviceaccount'), readOnly: true }] : []
  return {
    name: 'execute',
    image: template.image ?? DEFAULT_IMAGE,
    imagePullPolicy: template.imagePullPolicy,
    command: ['python3', '-I', '-B', `${WORK}/runner/pod.py`, WORK],
    workingDir: WORK,
    // a name that is given twice has the last value: what the runner needs is the runner's
    env: [
      ...((template.env ?? []) as unknown as JsonObject[]),
      ...Object.entries({
        HOME: `${WORK}/home`,
        TMPDIR: '/tmp',
        LANG: 'C.UTF-8',
        PYTHONUTF8: '1',
        JUPYTER_RUNTIME_DIR: `${WORK}/jupyter`,
        IPYTHONDIR: `${WORK}/ipython`,
      }).map(([name, value]) => ({ name, value })),
    ].filter(({ name }, index, all) => all.findLastIndex((other) => other.name === name) === index),
    envFrom: template.envFrom,
    resources: template.resources ?? DEFAULT_RESOURCES,
    securityContext: confined(),
    volumeMounts: [WORK_MOUNT, mount('mlops-tmp', '/tmp'), ...token, ...((template.volumeMounts ?? []) as unknown as JsonObject[])],
  }
}

/** The Secrets of both sources, for the container clone alone. One that is missing is told by it: a pod would wait for ever. */
function secretsOf({ notebook, golden }: JobSpec): { volume: object; mount: object }[] {
  const names = [notebook.git, golden?.git].map((git) => git?.credentialsSecretRef?.name).filter((name) => name !== undefined && name !== '')
  return [...new Set(names)].map((name, i) => ({
    volume: { name: `mlops-secret-${i}`, secret: { secretName: name, optional: true, defaultMode: 0o440 } },
    mount: { ...mount(`mlops-secret-${i}`, `${SECRETS}/${name}`), readOnly: true },
  }))
}

/** upstream: kubernetes/plugin/pkg/admission/serviceaccount/admission.go: TokenVolumeSource; here for one container only. */
function tokenVolume(): object {
  const namespace = { path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }
  return {
    name: 'mlops-token',
    projected: {
      defaultMode: 0o440,
      sources: [
        { serviceAccountToken: { expirationSeconds: TOKEN_SECONDS, path: 'token' } },
        { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
        { downwardAPI: { items: [namespace] } },
      ],
    },
  }
}

/** As JSON carries it: without what is undefined. */
function plain(value: object): Json {
  return JSON.parse(JSON.stringify(value)) as Json
}
