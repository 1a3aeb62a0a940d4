/** What is served of mlops.dev: each definition with its conversion, and its strategy where it has one. */
import { compileConversion } from '../api/lens-conversion.ts'
import type { Conversion } from '../api/conversion.ts'
import type { ResourceDefinition, Strategy } from '../api/resource.ts'
import { notebookValidationJobs } from './notebookvalidationjobs/definition.ts'
import { lenses } from './notebookvalidationjobs/lenses.ts'

/** A resource as the registry takes it. */
export interface ServedResource {
  readonly definition: ResourceDefinition
  readonly conversion: Conversion
  readonly strategy?: Strategy
}

/** The resources of the group mlops.dev. */
export const resources: readonly ServedResource[] = [
  { definition: notebookValidationJobs, conversion: compileConversion(notebookValidationJobs, lenses) },
]
