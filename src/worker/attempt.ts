/** What is known of an attempt: the observations of its executor, folded. Pure. */
import type { AttemptFailure } from './attempt-failure.ts'
import type { Observation } from './executor.ts'
import type { RunnerRecord } from './records.ts'
import type { Report } from './report-types.ts'

export type AttemptStep = 'Preparing' | 'Cloning' | 'Executing' | 'Comparing' | 'Ended'

/** The state of an attempt. In the step Ended it has a report or a failure. */
export type AttemptState = {
  readonly number: number
  readonly step: AttemptStep
  /** What is being prepared, for a person. */
  readonly preparing?: string
  /** The pod that runs it. */
  readonly pod?: { readonly name: string; readonly uid: string }
  /** When cloning began, in milliseconds since the epoch. */
  readonly startedAt?: number
  readonly source?: { readonly commit: string; readonly goldenCommit?: string }
  readonly runtime?: { readonly kernelName: string; readonly language: string; readonly nbformat: string }
  readonly records: readonly RunnerRecord[]
  readonly recordBytes: number
  /** When the cell that runs now began, in milliseconds since the epoch. */
  readonly cellStartedAt?: number
  readonly report?: Report
  readonly failure?: AttemptFailure
}

/** An attempt of which nothing has been seen yet. */
export function newAttempt(number: number): AttemptState {
  return { number, step: 'Preparing', records: [], recordBytes: 0 }
}

/** The state after one more observation. */
export function fold(state: AttemptState, observation: Observation): AttemptState {
  switch (observation.type) {
    case 'preparing':
      return { ...state, step: 'Preparing', preparing: observation.message }
    case 'pod':
      return { ...state, pod: { name: observation.name, uid: observation.uid } }
    case 'cloning':
      return { ...state, step: 'Cloning', startedAt: observation.at }
    case 'source': {
      const { type: _, ...source } = observation
      return { ...state, step: 'Executing', source }
    }
    case 'started':
      return { ...state, step: 'Executing', runtime: observation.runtime }
    case 'record': {
      const { cellStartedAt: _, ...rest } = state
      const running = observation.record.type === 'cell-start' && observation.at !== undefined ? { cellStartedAt: observation.at } : {}
      return { ...rest, ...running, records: [...state.records, observation.record], recordBytes: state.recordBytes + observation.bytes }
    }
    case 'comparing':
      return { ...state, step: 'Comparing' }
    case 'finished':
      return { ...state, step: 'Ended', report: observation.report }
    case 'failed':
      return { ...state, step: 'Ended', failure: observation.failure }
  }
}
