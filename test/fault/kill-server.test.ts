import { test } from 'node:test'
import { killServer } from './kill-server.ts'

test('kill -9 of the server during load: nothing acknowledged is lost, watches see the rest, twice', async (t) => {
  t.diagnostic(await killServer(2))
})
