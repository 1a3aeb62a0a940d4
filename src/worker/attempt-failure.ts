/** Why an attempt could not be carried through, as a value that decides what happens next. */

/**
 * What a failure means for the job: a result of the notebook and a user's error end it (`Result`, `Final`),
 * trouble around it is tried again within `backoffLimit` (`Infrastructure`).
 */
export type FailureClass = 'Result' | 'Infrastructure' | 'Final'

/** An attempt's failure. `reason` is one of the reasons of the condition Succeeded; `message` holds no secret. */
export type AttemptFailure = { readonly reason: string; readonly message: string; readonly class: FailureClass }

/** Thrown by the steps of an attempt; anything else that they throw is trouble of the infrastructure. */
export class AttemptError extends Error {
  readonly failure: AttemptFailure
  constructor(failureClass: FailureClass, reason: string, message: string) {
    super(message)
    this.name = 'AttemptError'
    this.failure = { reason, message, class: failureClass }
  }
}

/** The failure behind whatever a step has thrown. */
export function failureOf(error: unknown): AttemptFailure {
  if (error instanceof AttemptError) return error.failure
  const message = error instanceof Error ? error.message : String(error)
  if (isDiskFull(error)) return { reason: 'RunnerUnavailable', message: `the worker's disk is full: ${message}`, class: 'Infrastructure' }
  return { reason: 'RunnerUnavailable', message: `the worker could not run the attempt: ${message}`, class: 'Infrastructure' }
}

function isDiskFull(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT')
}
