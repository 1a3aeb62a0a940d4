/**
 * Runs real code of several processes on one simulated store, one call of the store at a time, in an order that a schedule decides; processes can die, leases end and answers
 * get lost at every call. The same schedule always gives the same run.
 */
import { UnknownOutcome } from '../../storage/backend.ts'
import type { Backend, CommitRequest, CommitResult, KeyValue, Lease } from '../../storage/backend.ts'
import { openManualClock } from './manual-clock.ts'
import type { ManualClock } from './manual-clock.ts'
import { openMemoryBackend } from './memory-backend.ts'

/** Departures from the default order: at this step, this of the possible choices. */
export type Schedule = readonly { readonly at: number; readonly choice: number }[]

/** A commit that took effect, with the state before and after it. */
export interface Effect {
  readonly actor: string
  readonly request: CommitRequest
  readonly before: State
  readonly after: State
  readonly revision: number
}

export type State = ReadonlyMap<string, KeyValue>

/** A process: its name, and what it does on its own connection. */
export interface Actor {
  readonly name: string
  /** It may be killed, its answers may get lost. Default: it may not. */
  readonly mortal?: boolean
  run(sim: Simulation, backend: Backend): Promise<unknown>
  /** Who takes over when it was killed. */
  readonly successor?: Actor
}

export interface SimulationOptions {
  readonly schedule: Schedule
  /** What becomes of each commit before it is carried out: for taking conditions away. */
  readonly mutate?: (request: CommitRequest, actor: string) => CommitRequest
  /** Throws for an effect that must not be. */
  readonly check: (effect: Effect) => void
}

interface Call {
  readonly actor: Actor
  readonly what: 'commit' | 'other' | 'wait'
  readonly carryOut: () => Promise<unknown>
  readonly resolve: (value: never) => void
  readonly reject: (reason: unknown) => void
}

type Choice = { readonly kind: 'call' | 'crash-before' | 'crash-after' | 'unknown-done' | 'unknown-not' | 'late'; readonly call: Call } | { readonly kind: 'expire'; readonly actor: string }

const MOST_STEPS = 2000

export class Simulation {
  readonly clock: ManualClock = openManualClock()
  readonly store: Backend = openMemoryBackend({ clock: this.clock })
  /** Number of choices at each step: what other schedules there are. */
  readonly choices: number[] = []
  readonly #options: SimulationOptions
  readonly #leases = new Map<string, Lease[]>()
  readonly #departures: ReadonlyMap<number, number>
  readonly #paused = new Set<string>()
  #calls: Call[] = []
  #failure: unknown
  #faults = 2
  #last: string | undefined
  #revision = 0

  constructor(options: SimulationOptions) {
    this.#options = options
    this.#departures = new Map(options.schedule.map(({ at, choice }) => [at, choice]))
  }

  /** Starts a process. What it throws fails the run. */
  start(actor: Actor): void {
    actor.run(this, this.#connect(actor)).catch((error: unknown) => (this.#failure ??= error))
  }

  /** Runs until no process has anything to do. Throws what a check or a process threw. */
  async run(): Promise<void> {
    for (let step = 0; ; step++) {
      await new Promise((resolve) => setImmediate(resolve))
      if (this.#failure !== undefined) throw this.#failure
      const choices = this.#choicesNow()
      if (choices.length === 0) return
      if (step === MOST_STEPS) throw new Error('the run does not end')
      this.choices.push(choices.length)
      await this.#take(choices[Math.min(this.#departures.get(step) ?? 0, choices.length - 1)]!)
    }
  }

  async state(): Promise<State> {
    const { kvs } = await this.store.range({ start: '\0', end: '\u{10ffff}' })
    return new Map(kvs.map((kv) => [kv.key, kv]))
  }

  /** A pause of a process, until others have gone on. */
  wait(backend: Backend): Promise<void> {
    return (backend as Backend & { wait(): Promise<void> }).wait()
  }

  // The default comes first: who ran last goes on, then others, then who waits, and last a process that was away for so long that its lease has ended.
  // Faults are only for departures.
  #choicesNow(): Choice[] {
    const order = ({ actor, what }: Call): number => {
      if (this.#paused.has(actor.name)) return 3
      if (what === 'wait') return 2
      return actor.name === this.#last ? 0 : 1
    }
    const calls = [...this.#calls].sort((a, b) => order(a) - order(b))
    const choices: Choice[] = calls.map((call) => ({ kind: 'call', call }))
    if (calls.length > 0 && calls.every(({ what, actor }) => what === 'wait' || this.#paused.has(actor.name))) choices.unshift(...this.#expiries())
    if (this.#faults === 0 || calls.length === 0) return choices
    for (const call of calls) {
      if (!call.actor.mortal) continue
      if (call.actor.successor) choices.push({ kind: 'crash-before', call }, { kind: 'crash-after', call })
      if (call.what === 'commit') choices.push({ kind: 'unknown-done', call }, { kind: 'unknown-not', call }, { kind: 'late', call })
    }
    return [...choices, ...this.#expiries()]
  }

  #expiries(): Choice[] {
    return [...this.#leases].flatMap(([actor, leases]): Choice[] => (leases.length > 0 ? [{ kind: 'expire', actor }] : []))
  }

  async #take(choice: Choice): Promise<void> {
    if (choice.kind === 'expire') {
      const leases = this.#leases.get(choice.actor) ?? []
      this.#leases.delete(choice.actor)
      this.#paused.add(choice.actor)
      for (const lease of leases) await lease.revoke()
      return
    }
    const { call, kind } = choice
    this.#calls = this.#calls.filter((other) => other !== call)
    if (call.what !== 'wait') this.#last = call.actor.name
    this.#paused.delete(call.actor.name)
    if (kind !== 'call') this.#faults--
    if (kind === 'late') this.#calls.push({ ...call, resolve: () => {}, reject: () => {}, actor: { ...call.actor, mortal: false } })
    if (kind === 'late' || kind === 'unknown-not') return call.reject(new UnknownOutcome('simulated'))
    if (kind === 'crash-before') return this.#crash(call.actor)
    const outcome = await call.carryOut().then(
      (value) => ({ value }),
      (error: unknown) => ({ error }),
    )
    if (kind === 'crash-after') return this.#crash(call.actor)
    if (kind === 'unknown-done') return call.reject(new UnknownOutcome('simulated'))
    if ('error' in outcome) call.reject(outcome.error)
    else call.resolve(outcome.value as never)
  }

  #crash(actor: Actor): void {
    this.#calls = this.#calls.filter((call) => call.actor !== actor)
    if (actor.successor) this.start(actor.successor)
  }

  #connect(actor: Actor): Backend {
    const { store } = this
    const call = <T>(what: Call['what'], carryOut: () => Promise<T>): Promise<T> =>
      new Promise((resolve, reject) => this.#calls.push({ actor, what, carryOut, resolve: resolve as (value: never) => void, reject }))
    const backend: Backend & { wait(): Promise<void> } = {
      ...store,
      get: (key) => call('other', () => store.get(key)),
      range: (request) => call('other', () => store.range(request)),
      currentRevision: () => call('other', () => store.currentRevision()),
      compact: (revision) => call('other', () => store.compact(revision)),
      status: () => call('other', () => store.status()),
      commit: (request) => call('commit', () => this.#commit(actor.name, request)),
      wait: () => call('wait', async () => {}),
      lease: (seconds) => call('other', () => this.#lease(actor.name, seconds)),
      watch: () => {
        throw new Error('watches are not simulated')
      },
    }
    return backend
  }

  async #lease(actor: string, seconds: number): Promise<Lease> {
    const lease = await this.store.lease(seconds)
    this.#leases.set(actor, [...(this.#leases.get(actor) ?? []), lease])
    return {
      ...lease,
      revoke: async () => {
        this.#leases.set(actor, (this.#leases.get(actor) ?? []).filter((other) => other !== lease))
        await lease.revoke()
      },
    }
  }

  async #commit(actor: string, original: CommitRequest): Promise<CommitResult> {
    const request = this.#options.mutate?.(original, actor) ?? original
    const before = await this.state()
    const result = await this.store.commit(request)
    if (result.revision < this.#revision) throw new Error('I-7: the revision went back')
    this.#revision = result.revision
    if (!result.succeeded) return result
    try {
      this.#options.check({ actor, request, before, after: await this.state(), revision: result.revision })
    } catch (error) {
      this.#failure ??= error
    }
    return result
  }
}
