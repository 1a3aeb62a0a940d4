/** The NotebookValidationJob as a resource: its names and its three versions. */
import type { ResourceDefinition } from '../../api/resource.ts'
import { v1 } from './v1.ts'
import { v1alpha1 } from './v1alpha1.ts'
import { v1beta1 } from './v1beta1.ts'

/** mlops.dev NotebookValidationJob. */
export const notebookValidationJobs: ResourceDefinition = {
  group: 'mlops.dev',
  scope: 'Namespaced',
  names: {
    plural: 'notebookvalidationjobs',
    singular: 'notebookvalidationjob',
    kind: 'NotebookValidationJob',
    listKind: 'NotebookValidationJobList',
    shortNames: ['nvj'],
    categories: ['mlops'],
  },
  versions: [v1, v1beta1, v1alpha1],
}
