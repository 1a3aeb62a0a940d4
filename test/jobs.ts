/** Jobs to send, and where to. */

/** The collection of jobs of a version, in the namespace `default` or another. */
export function jobsPath(version: string, namespace = 'default'): string {
  return `/apis/mlops.dev/${version}/namespaces/${namespace}/notebookvalidationjobs`
}

/** A small valid job of v1; `spec` and `metadata` are laid over its own. */
export function job(name: string, { spec = {}, metadata = {} }: { readonly spec?: object; readonly metadata?: object } = {}) {
  return {
    apiVersion: 'mlops.dev/v1',
    kind: 'NotebookValidationJob',
    metadata: { name, ...metadata },
    spec: { notebook: { git: { url: 'https://git.example/ml/nb.git' }, path: 'a/train.ipynb' }, ...spec },
  }
}

/** The same of v1alpha1. */
export function alphaJob(name: string, { spec = {}, metadata = {} }: { readonly spec?: object; readonly metadata?: object } = {}) {
  return {
    apiVersion: 'mlops.dev/v1alpha1',
    kind: 'NotebookValidationJob',
    metadata: { name, ...metadata },
    spec: { notebook: { git: { url: 'https://git.example/ml/nb.git', path: 'a/train.ipynb' } }, ...spec },
  }
}
