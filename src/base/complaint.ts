/** For what is tried again and again: why it fails is worth a line when it is new, and no stack each time. */
import type { Log } from './log.ts'

/** See `openComplaint`. */
export interface Complaint {
  /** Says why, as `problem`, unless that was said last. */
  failed(error: unknown): void
  /** It works: the next failure is new. */
  well(): void
}

/** Opens a complaint; `fields` are shown beside each line. */
export function openComplaint(log: Log, message: string, fields: Readonly<Record<string, unknown>> = {}): Complaint {
  let said: string | undefined
  return {
    failed(error) {
      const problem = error instanceof Error ? error.message : String(error)
      if (problem !== said) log.warn(message, { ...fields, problem })
      said = problem
    },
    well() {
      said = undefined
    },
  }
}
