/** Waiting for a signal. */

/** Resolves when the signal aborts; at once when it has, since an abort that is over tells nobody any more. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
