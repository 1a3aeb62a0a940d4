/**
 * How storage commands end: 0 done; 2 usage; 3 refused by a check; 4 not without an operator; 5 old or bad objects found; 6 blocked by quarantine;
 * 7 aborted; 8 another process has it; 9 the store is not available; 10 to 15 as at the start of a server; 130 interrupted, the same command continues.
 */
import { BackendError } from '../../../storage/backend.ts'
import { EXIT_CODES, Refused, type RefusalReason } from '../../../storage/refused.ts'
import { StoreLocked } from '../../../storage/sqlite-protocol.ts'
import { ConfigError } from '../../config.ts'
import type { Migration } from '../../registry/storage-admin.ts'

/** Ended by Ctrl-C, as shells say it. */
export const INTERRUPTED = 130
/** A store or a server that cannot be used. */
export const UNAVAILABLE = EXIT_CODES.StoreUnavailable

/** A command line that makes no sense. */
export class UsageError extends Error {}

/** What the file system says of a file that was named. */
const FILE_ERRORS = new Set(['ENOENT', 'EACCES', 'EPERM', 'EISDIR', 'ENOTDIR', 'EEXIST', 'EROFS', 'ENAMETOOLONG'])

/** The exit code of an error. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof Refused) return error.exitCode
  if (error instanceof UsageError || error instanceof ConfigError) return 2
  if (error instanceof StoreLocked) return EXIT_CODES.LostOwnership
  if (error instanceof BackendError) return UNAVAILABLE
  return error instanceof Error && 'code' in error && FILE_ERRORS.has(String(error.code)) ? 2 : 1
}

const PHASES: Partial<Record<Migration['phase'], number>> = { Succeeded: 0, Paused: EXIT_CODES.StillStored, Failed: EXIT_CODES.OldObjectsFound, Blocked: EXIT_CODES.Quarantined, Aborted: EXIT_CODES.Aborted }

/** The exit code of a migration that nobody works on any more. */
export function migrationExitCode({ phase, failure }: Migration): number {
  if (failure) return failure.reason === undefined ? UNAVAILABLE : (EXIT_CODES[failure.reason as RefusalReason] ?? UNAVAILABLE)
  return PHASES[phase] ?? UNAVAILABLE
}
