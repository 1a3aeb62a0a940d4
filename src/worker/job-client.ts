/** What the worker asks of the API: an interface, so that tests and other transports can take its place. */
import type { JsonObject } from '../api/object.ts'
import type { Job } from './job.ts'

/** An answer of the API that is no success. `code` is the HTTP status. */
export class ApiError extends Error {
  readonly code: number
  readonly reason: string
  /** The details of the Status, where it is one. */
  readonly details: unknown
  constructor(code: number, reason: string, message: string, details?: unknown) {
    super(message)
    this.details = details
    this.name = 'ApiError'
    this.code = code
    this.reason = reason
  }
}

/** True for an ApiError with one of the codes. */
export function isApiError(error: unknown, ...codes: number[]): error is ApiError {
  return error instanceof ApiError && codes.includes(error.code)
}

export type WatchEvent = { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK'; readonly object: Job }

/** The API as a client sees it. All methods throw ApiError for an answer that is no success, and other errors for none. */
export interface JobClient {
  /** All jobs of all namespaces, with the resourceVersion from which to watch. */
  list(signal?: AbortSignal): Promise<{ items: Job[]; resourceVersion: string }>
  /** Changes after a resourceVersion; ends when the server ends it. Throws ApiError 410 when that version is too old. */
  watch(resourceVersion: string, signal: AbortSignal): AsyncIterable<WatchEvent>
  /** Merge patch of /status; returns the job as stored. */
  patchStatus(namespace: string, name: string, patch: JsonObject): Promise<Job>
  /** Deletes the job if it is still this one and unchanged. */
  delete(namespace: string, name: string, preconditions: { uid: string; resourceVersion: string }): Promise<void>
  /** The `data` of a Secret; undefined when there is no such Secret. */
  readSecret(namespace: string, name: string): Promise<Record<string, string> | undefined>
  createEvent(namespace: string, event: JsonObject): Promise<void>
  /** Merge patch of an Event. */
  patchEvent(namespace: string, name: string, patch: JsonObject): Promise<void>
}
