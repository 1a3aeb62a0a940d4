/** What is served of mlops.dev: each definition with its conversion, and its strategy where it has one. */
import { compileConversion } from '../api/lens-conversion.ts'
import { notebookValidationJobs } from './notebookvalidationjobs/definition.ts'
import { lenses } from './notebookvalidationjobs/lenses.ts'

/** The resources of the group mlops.dev. */
export const resources = [{ definition: notebookValidationJobs, conversion: compileConversion(notebookValidationJobs, lenses) }]
