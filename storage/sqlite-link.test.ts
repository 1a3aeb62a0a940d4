import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Unavailable, UnknownOutcome } from './backend.ts'
import { openLink } from './sqlite-link.ts'
import type { Link } from './sqlite-link.ts'

/** A worker that greets and then does something else with the calls. */
const openWith = (onCalls: string, onCrash: (cause: Unavailable) => void = () => {}): Promise<Link> => {
  const code = `import { parentPort } from 'node:worker_threads'
    parentPort.postMessage({ revision: 7, compactedRevision: 5 })
    parentPort.on('message', (calls) => { ${onCalls} })`
  return openLink({ directory: '', firstRevision: 1, onCrash, script: new URL(`data:text/javascript,${encodeURIComponent(code)}`) })
}

test('when the thread dies, writes under way have an unknown outcome and all else is unavailable', async () => {
  const crashes: Unavailable[] = []
  const link = await openWith(`throw new Error('boom')`, (cause) => crashes.push(cause))
  assert.deepEqual([link.revision, link.compactedRevision], [7, 5])
  const [write, lease, read] = await Promise.allSettled([link.call('commit', { compare: [] }), link.call('endLease', 'x'), link.call('get', 'a')])
  for (const outcome of [write, lease]) assert.ok(outcome.status === 'rejected' && outcome.reason instanceof UnknownOutcome)
  assert.ok(read.status === 'rejected' && read.reason instanceof Unavailable)
  assert.deepEqual(crashes.map(({ message }) => message), ['the store has failed: boom'])
  await assert.rejects(link.call('commit', { compare: [] }), Unavailable)
  assert.throws(() => link.check(), Unavailable)
  await link.close()
})

test('a thread that just ends is a failure too', async () => {
  const link = await openWith('process.exit(0)')
  await assert.rejects(link.call('get', 'a'), { message: 'the store has failed: its thread has ended with code 0' })
})

test('answers are given to the listener in order, before any promise resolves', async () => {
  const link = await openWith(`
    parentPort.postMessage(calls.flatMap(({ id }) => [{ id, page: [] }, { id, result: id }]))
    if (calls[0].name === 'close') parentPort.close()`)
  const order: string[] = []
  const calls = ['a', 'b'].map((key) =>
    link.call('get', key, { onPage: () => order.push(`page ${key}`), onResult: () => order.push(`result ${key}`) }).then(() => order.push(`resolved ${key}`)),
  )
  await Promise.all(calls)
  assert.deepEqual(order, ['page a', 'result a', 'page b', 'result b', 'resolved a', 'resolved b'])
  await link.close()
})
