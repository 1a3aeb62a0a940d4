/**
 * Walks of values that may nest as deep as the parser takes them, which no stack of calls would bear: a step is a generator that yields the step
 * for what is inside and gets its result back.
 */

/** A step that ends with a T. What it yields are steps; each is answered with what that one ended with. */
export type Walk<T> = Generator<Walk<unknown>, T, unknown>

/** Takes a walk to its end, with a stack of its own. What a step throws ends the whole walk. */
export function finish<T>(walk: Walk<T>): T {
  const around: Walk<unknown>[] = []
  let at: Walk<unknown> = walk
  let answer: unknown
  for (;;) {
    const { done, value } = at.next(answer)
    if (done) {
      const outer = around.pop()
      if (outer === undefined) return value as T
      at = outer
      answer = value
    } else {
      around.push(at)
      at = value
      answer = undefined
    }
  }
}
