/** A kube-apiserver without a network: each request is a call of a function that a test gives. */
import type { KubeClient, KubeEvent, KubeJson, KubeRequest } from './kube-client.ts'

export interface FakeKubeClient extends KubeClient {
  /** All requests so far. */
  readonly requests: readonly KubeRequest[]
  /** Sends an event to the watches that are open. */
  send(event: KubeEvent): Promise<void>
  /** Breaks the watches that are open. */
  cut(error: Error): Promise<void>
}

/** Opens one; `answer` may throw. */
export function fakeKubeClient(answer: (request: KubeRequest) => KubeJson | Promise<KubeJson>): FakeKubeClient {
  const requests: KubeRequest[] = []
  const watches = new Set<{ readonly queue: (KubeEvent | Error)[]; wake(): void }>()
  const push = async (item: KubeEvent | Error): Promise<void> => {
    for (const watch of watches) {
      watch.queue.push(item)
      watch.wake()
    }
    await settle()
  }
  return {
    requests,
    async request(request) {
      requests.push(request)
      return await answer(request)
    },
    async *watch(_path, { signal }) {
      let waiting = Promise.withResolvers<void>()
      const watch = { queue: [] as (KubeEvent | Error)[], wake: () => waiting.resolve() }
      watches.add(watch)
      signal.addEventListener('abort', () => waiting.resolve())
      try {
        while (!signal.aborted) {
          for (let item = watch.queue.shift(); item; item = watch.queue.shift()) {
            if (item instanceof Error) throw item
            yield item
          }
          await waiting.promise
          waiting = Promise.withResolvers<void>()
        }
      } finally {
        watches.delete(watch)
      }
    },
    close() {},
    send: push,
    cut: push,
  }
}

/** Lets promises settle. */
export async function settle(): Promise<void> {
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve))
}
