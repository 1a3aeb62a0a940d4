/** Fuzzing: a property held on many hostile inputs, from a fixed seed, each within a limit of time. FUZZ_ROUNDS multiplies the inputs. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'

const ROUNDS = Number(process.env.FUZZ_ROUNDS ?? 1)
// CPU time of one input, generous for a busy machine: what hangs takes far longer.
const LIMIT_MS = 1500

/** Holds `check` on `runs` inputs as a test. */
export function fuzz<T>(name: string, runs: number, inputs: fc.Arbitrary<T>, check: (input: T) => void): void {
  test(name, () => {
    fc.assert(
      fc.property(inputs, (input) => {
        const before = process.cpuUsage()
        check(input)
        const { user, system } = process.cpuUsage(before)
        assert.ok((user + system) / 1000 < LIMIT_MS, `took ${(user + system) / 1000} ms`)
      }),
      { numRuns: Math.ceil(runs * ROUNDS), seed: 20_260_101 },
    )
    assert.deepEqual(Object.keys(Object.prototype), [])
  })
}

/** The same with requests. */
export function fuzzAsync<T>(name: string, runs: number, inputs: fc.Arbitrary<T>, check: (input: T) => Promise<void>): void {
  test(name, async () => {
    await fc.assert(fc.asyncProperty(inputs, check), { numRuns: Math.ceil(runs * ROUNDS), seed: 20_260_101 })
    assert.deepEqual(Object.keys(Object.prototype), [])
  })
}

/** What `work` gives, or the error that it may throw: one of `errors`. Any other is a crash. */
// oxlint-disable-next-line typescript/no-explicit-any -- constructors of any shape
export function outcome<T>(work: () => T, ...errors: (new (...args: any[]) => Error)[]): T | Error {
  try {
    return work()
  } catch (error) {
    if (errors.some((type) => error instanceof type)) return error as Error
    throw error
  }
}

/** Texts put together from fragments, cut, doubled and broken; some are any text. */
export function textOf(fragments: readonly string[], maxLength = 20): fc.Arbitrary<string> {
  const odd = ['\0', '\u2028', '\ud800', '\ufeff', '𝄞', 'é', '\\', '"', "'", '\n', '\t', ' ', '%', '__proto__', 'constructor', '-1', '9'.repeat(40), 'x'.repeat(300)]
  const piece = fc.oneof({ weight: 8, arbitrary: fc.constantFrom(...fragments) }, { weight: 1, arbitrary: fc.constantFrom(...odd) }, { weight: 1, arbitrary: fc.string({ maxLength: 3 }) })
  return fc.array(piece, { maxLength }).map((pieces) => pieces.join(''))
}

/** A valid text with something changed: a part taken out, doubled, or replaced. */
export function mutated(texts: readonly string[], fragments: readonly string[]): fc.Arbitrary<string> {
  const edit = fc.tuple(fc.nat(), fc.nat({ max: 12 }), fc.oneof(fc.constantFrom('', ...fragments), fc.string({ maxLength: 2 })))
  return fc.tuple(fc.constantFrom(...texts), fc.array(edit, { minLength: 1, maxLength: 4 })).map(([text, edits]) =>
    edits.reduce((out, [place, length, by]) => {
      const at = place % (out.length + 1)
      return out.slice(0, at) + by + out.slice(at + length)
    }, text))
}
