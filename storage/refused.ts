/** Refusals that an operator can act on: each has a reason, one message that says what to do, and the exit code of the command that meets it. */

/** Exit codes by reason. 10 to 15: at start; the others: of the storage commands. Documented, and fixed once released. */
export const EXIT_CODES = {
  UnknownVersion: 2,
  UnknownResource: 2,
  ReplicaUnable: 3,
  ReplicaMissing: 3,
  ReplicasChanged: 3,
  MigrationUnfinished: 3,
  BelowRollbackFloor: 3,
  RetiredVersion: 3,
  Frozen: 3,
  NotEmpty: 3,
  DamagedBundle: 3,
  Changed: 3,
  StoreBusy: 3,
  LowSpace: 3,
  Forbidden: 3,
  UnusableReplacement: 3,
  StillStored: 4,
  NoProof: 5,
  OldObjectsFound: 5,
  Quarantined: 6,
  Aborted: 7,
  LostOwnership: 8,
  StoreUnavailable: 9,
  NewerStore: 10,
  RestoredSnapshot: 11,
  IncompleteRestore: 11,
  UndecodableVersion: 12,
  UnencodableVersion: 13,
  EditedSchema: 14,
  SelfTestFailed: 15,
} as const

export type RefusalReason = keyof typeof EXIT_CODES

/** What was asked for was not done, and nothing was written. */
export class Refused extends Error {
  readonly reason: RefusalReason
  readonly exitCode: number
  constructor(reason: RefusalReason, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'Refused'
    this.reason = reason
    this.exitCode = EXIT_CODES[reason]
  }
}
