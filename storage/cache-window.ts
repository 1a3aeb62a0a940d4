/** The latest changes of a cache, from which watches start and earlier states are made. */
import type { Change, HeldEntry } from './cache-entry.ts'
import type { SortedEntries } from './cache-state.ts'

/** How much a window keeps: whichever bound is met first. */
export interface WindowBounds {
  readonly events: number
  /** Bytes of replaced values, which only the window keeps alive. */
  readonly bytes: number
}

/** Every change after revision `start`, in order, within bounds. */
export class EventWindow {
  readonly #bounds: WindowBounds
  readonly #dropped: (previous: HeldEntry) => void
  #changes: (Change | undefined)[] = []
  #head = 0
  #bytes = 0
  #start: number

  /** `dropped` is told of each replaced entry that leaves the window. */
  constructor(start: number, bounds: WindowBounds, dropped: (previous: HeldEntry) => void) {
    this.#start = start
    this.#bounds = bounds
    this.#dropped = dropped
  }

  /** Changes after this revision are all here. */
  get start(): number {
    return this.#start
  }

  push(change: Change): void {
    this.#changes.push(change)
    this.#bytes += change.previous?.value.byteLength ?? 0
    while (this.#changes.length - this.#head > this.#bounds.events || this.#bytes > this.#bounds.bytes) this.#drop()
  }

  /** The changes after a revision that is not before `start`. */
  after(revision: number): Change[] {
    let low = this.#head
    let high = this.#changes.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#changes[middle]!.revision <= revision) low = middle + 1
      else high = middle
    }
    return this.#changes.slice(low) as Change[]
  }

  /** The state as it was at a revision that is not before `start`, from the state after all changes. */
  undo(state: SortedEntries, revision: number): SortedEntries {
    const before = new Map<string, HeldEntry | undefined>()
    for (const change of this.after(revision)) if (!before.has(change.key)) before.set(change.key, change.previous)
    let result = state
    for (const [key, entry] of before) result = entry === undefined ? result.without(key) : result.with(entry)
    return result
  }

  /** Forgets everything: what came before `start` is not known. */
  reset(start: number): void {
    while (this.#head < this.#changes.length) this.#drop()
    this.#start = start
  }

  #drop(): void {
    const change = this.#changes[this.#head]!
    this.#changes[this.#head] = undefined
    this.#head++
    this.#start = change.revision
    if (change.previous !== undefined) {
      this.#bytes -= change.previous.value.byteLength
      this.#dropped(change.previous)
    }
    if (this.#head > 1024 && this.#head * 2 > this.#changes.length) {
      this.#changes = this.#changes.slice(this.#head)
      this.#head = 0
    }
  }
}
