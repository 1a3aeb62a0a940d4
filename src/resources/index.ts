/** What is served of mlops.dev: each definition with its conversion, its strategy where it has one, and the stored bytes that a program must read rightly. */
import { compileConversion } from '../api/lens-conversion.ts'
import { notebookValidationJobs } from './notebookvalidationjobs/definition.ts'
import { lenses } from './notebookvalidationjobs/lenses.ts'
import { storedSamples } from './notebookvalidationjobs/stored-samples.ts'

/** The resources of the group mlops.dev. */
export const resources = [{ definition: notebookValidationJobs, conversion: compileConversion(notebookValidationJobs, lenses), samples: storedSamples }]
