import assert from 'node:assert/strict'
import { test } from 'node:test'
import { join } from 'node:path'
import { writeKubeconfig } from '../kubeconfig.ts'
import { startServer } from '../../../test/harness.ts'
import { exitCodeOf } from './exit-code.ts'
import { openRemoteStorage } from './remote-storage.ts'

test('what the server refuses by its rights is a refusal, with its message', async () => {
  await using server = await startServer()
  const kubeconfig = join(server.directory, 'nobody.kubeconfig')
  // The certificate of the server proves no user.
  await writeKubeconfig(kubeconfig, { server: server.server.url, ca: server.pki.ca, key: server.pki.server.key, cert: server.pki.server.cert, name: 'nobody' })
  const admin = openRemoteStorage(kubeconfig)
  for (const call of [() => admin.list(), () => admin.migrate('things.example'), async () => void (await admin.backup()[Symbol.asyncIterator]().next())]) {
    const error: unknown = await call().then(() => undefined, (reason: unknown) => reason)
    assert.equal(exitCodeOf(error), 3, String(error))
    assert.match((error as Error).message, /forbidden|Unauthorized/i)
  }
  await admin.close()
})
