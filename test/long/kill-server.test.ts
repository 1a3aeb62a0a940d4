import { test } from 'node:test'
import { killServer } from '../fault/kill-server.ts'

test('kill -9 of the server during load: nothing acknowledged is lost, watches see the rest, 25 times', async (t) => {
  t.diagnostic(await killServer(25))
})
