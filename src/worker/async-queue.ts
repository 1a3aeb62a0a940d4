/** Values from one task to one other, in order, without loss. */

/** A queue whose reader waits. Reading ends after `close` when everything before it was read. */
export class AsyncQueue<T> implements AsyncIterable<T> {
  private values: T[] = []
  private closed = false
  private wake: () => void = () => {}

  push(value: T): void {
    if (this.closed) return
    this.values.push(value)
    this.wake()
  }

  close(): void {
    this.closed = true
    this.wake()
  }

  async *[Symbol.asyncIterator](): AsyncIterator<T> {
    for (;;) {
      const values = this.values
      this.values = []
      yield* values
      if (this.values.length > 0) continue
      if (this.closed) return
      await new Promise<void>((resolve) => (this.wake = resolve))
    }
  }
}
