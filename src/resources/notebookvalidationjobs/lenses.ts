/** The lenses between the versions of NotebookValidationJob: v1alpha1 ⇄ v1beta1 ⇄ v1. */
import { each, group, inherit, newer, pick, regroup, rename, same, verdict, within, wrap, type Lens } from '../../api/lens.ts'

const alphaGit = [same('url', 'ref'), wrap('credentialsSecret', 'credentialsSecretRef', 'name'), newer('depth', 'submodules', 'lfs')]

const picked = ['cpu', 'memory']

/** v1alpha1 shows a part of v1beta1. */
export const alphaToBeta: Lens = {
  older: 'v1alpha1',
  newer: 'v1beta1',
  operations: [
    within('spec', [
      within('notebook', [within('git', alphaGit), rename('git.path', 'path')]),
      rename('notebook.golden', 'golden', [rename('git.path', 'path')]),
      inherit('notebook.golden.git', 'golden.git', 'notebook.git', alphaGit),
      newer(
        'metadataPolicy', 'comparisonConfig', 'kernelName', 'parameters', 'cellTimeoutSeconds', 'startupTimeoutSeconds',
        'errorPolicy', 'allowedErrorNames', 'expectedErrors', 'failOn', 'workingDirectory',
      ),
      within('podConfig', [
        rename('containerImage', 'image'),
        same('serviceAccountName'),
        within('resources', [pick('requests', picked), pick('limits', picked)]),
        newer(
          'metadata', 'imagePullPolicy', 'imagePullSecrets', 'automountServiceAccountToken', 'priorityClassName', 'runtimeClassName',
          'securityContext', 'nodeSelector', 'tolerations', 'affinity', 'topologySpreadConstraints', 'env', 'envFrom', 'volumes',
          'volumeMounts',
        ),
      ]),
      same('timeoutSeconds'),
      newer('maxRetries', 'imagePullTimeoutSeconds', 'suspend', 'ttlSecondsAfterFinished', 'results'),
    ]),
    within('status', [
      same('phase'),
      each('conditions', 'conditions', ['type', 'type'], [
        same('type', 'status', 'lastTransitionTime', 'reason', 'message'),
        newer('observedGeneration'),
      ]),
      newer(
        'observedGeneration', 'reason', 'message', 'startTime', 'completionTime', 'attempts', 'source', 'goldenSource', 'runtime',
        'truncated', 'artifacts', 'validationPodName', 'validationPodUID', 'summary', 'comparisonResult',
      ),
      each('results', 'cellResults', ['cellIndex', 'cellIndex'], [
        same('cellIndex', 'output'),
        verdict('status', 'status', {
          beside: 'comparison.outcome',
          good: { value: 'Success', outcomes: ['Succeeded', 'Skipped'], beside: ['Matched', 'Ignored'], create: 'Succeeded' },
          bad: { value: 'Failure', create: 'Failed' },
        }),
        rename('error', 'errorMessage'),
        newer(
          'cellID', 'type', 'executionCount', 'durationMilliseconds', 'outputBytes', 'outputTruncated', 'errorName', 'errorValue',
          'traceback', 'comparison',
        ),
      ]),
    ]),
  ],
}

const betaGit = [same('url', 'credentialsSecretRef', 'depth', 'submodules', 'lfs'), rename('ref', 'revision')]

const counts = {
  total: 'total', code: 'code', succeeded: 'succeeded', failed: 'failed', skipped: 'skipped', notRun: 'notRun',
  durationMilliseconds: 'durationMilliseconds', cells: 'cells', duration: 'duration',
}

/** v1beta1 is v1 in another form. */
export const betaToV1: Lens = {
  older: 'v1beta1',
  newer: 'v1',
  operations: [
    within('spec', [
      within('notebook', [within('git', betaGit), same('path')]),
      within('golden', [within('git', betaGit), same('path')]),
      same('metadataPolicy', 'imagePullTimeoutSeconds', 'suspend', 'ttlSecondsAfterFinished', 'results'),
      rename('comparisonConfig', 'comparison', [
        same('reference', 'scope', 'normalizers', 'images', 'cellMatching', 'sourceDrift'),
        rename('strategy', 'mode'),
        rename('sanitizers', 'replacements'),
        group('tolerance', { floatingPointTolerance: 'absolute', relativeTolerance: 'relative' }),
        group('ignore', {
          ignoreOutputTypes: 'outputTypes',
          ignoreStreams: 'streams',
          ignoreMimeTypes: 'mimeTypes',
          ignoreCellTags: 'cellTags',
          ignoreCellIndexes: 'cellIndexes',
          ignoreCellIDs: 'cellIDs',
        }),
      ]),
      group('execution', {
        kernelName: 'kernelName',
        parameters: 'parameters',
        cellTimeoutSeconds: 'cellTimeoutSeconds',
        startupTimeoutSeconds: 'startupTimeoutSeconds',
        errorPolicy: 'errorPolicy',
        allowedErrorNames: 'allowedErrorNames',
        expectedErrors: 'expectedErrors',
        failOn: 'failOn',
        workingDirectory: 'workingDirectory',
      }),
      rename('podConfig', 'podTemplate'),
      rename('timeoutSeconds', 'activeDeadlineSeconds'),
      rename('maxRetries', 'backoffLimit'),
    ]),
    within('status', [
      same(
        'observedGeneration', 'conditions', 'phase', 'reason', 'message', 'startTime', 'completionTime', 'attempts', 'source',
        'goldenSource', 'runtime', 'truncated', 'artifacts',
      ),
      group('podRef', { validationPodName: 'name', validationPodUID: 'uid' }),
      regroup('summary', {
        summary: counts,
        comparisonResult: { matchedCells: 'matched', mismatchedCells: 'mismatched', ignoredCells: 'ignored' },
      }),
      each('cellResults', 'cells', ['cellIndex', 'index'], [
        same('type', 'executionCount', 'durationMilliseconds'),
        rename('cellIndex', 'index'),
        rename('cellID', 'id'),
        rename('status', 'outcome'),
        group('output', { output: 'text', outputBytes: 'bytes', outputTruncated: 'truncated' }),
        group('error', { errorMessage: 'message', errorName: 'name', errorValue: 'value', traceback: 'traceback' }),
        within('comparison', [same('outcome'), rename('diffs', 'differences')]),
      ]),
    ]),
  ],
}

/** All lenses, oldest first. */
export const lenses: readonly Lens[] = [alphaToBeta, betaToV1]
