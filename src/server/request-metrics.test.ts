import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import express from 'express'
import type { ResourceDefinition } from '../api/resource.ts'
import { systemClock } from '../base/clock.ts'
import { openRequestMetrics } from './request-metrics.ts'

const definition: ResourceDefinition = {
  group: 'example.dev', scope: 'Namespaced',
  names: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
  versions: [{ name: 'v1', served: true, storage: true, schema: { type: 'object' } }],
}

test('requests are counted under names of ours only', async () => {
  const { measure, set } = openRequestMetrics({ clock: systemClock, definitions: [definition] })
  const app = express()
  app.use(measure)
  app.use((req, res) => void (req.query.watch ? res.write('frame') : res.status(req.method === 'POST' ? 201 : 200).end()))
  const server = createServer(app).listen(0)
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const prefix = `${base}/apis/example.dev/v1/namespaces/default/widgets`
  try {
    await fetch(prefix, { method: 'POST' })
    await fetch(`${prefix}/a/status`)
    await fetch(`${prefix}/a/anything`)
    await fetch(prefix)
    for (const path of ['/apis/example.dev/v9/widgets', '/apis/other/v1/things', '/healthz', '/a', '/b']) await fetch(base + path)
    const watch = new AbortController()
    await fetch(`${base}/apis/example.dev/v1/widgets?watch=1`, { signal: watch.signal })
    const text = await set.text()
    for (const line of [
      'apiserver_request_total{verb="POST",group="example.dev",version="v1",resource="widgets",subresource="",scope="resource",code="201"} 1',
      'apiserver_request_total{verb="GET",group="example.dev",version="v1",resource="widgets",subresource="status",scope="resource",code="200"} 1',
      'apiserver_request_total{verb="GET",group="example.dev",version="v1",resource="widgets",subresource="",scope="resource",code="200"} 1',
      'apiserver_request_total{verb="LIST",group="example.dev",version="v1",resource="widgets",subresource="",scope="namespace",code="200"} 1',
      'apiserver_request_total{verb="GET",group="",version="",resource="",subresource="",scope="",code="200"} 5',
      'apiserver_longrunning_requests{verb="WATCH",group="example.dev",version="v1",resource="widgets",subresource="",scope="cluster"} 1',
      'apiserver_current_inflight_requests{request_kind="readOnly"} 0',
    ]) assert.ok(text.includes(`${line}\n`), line)
    assert.match(text, /apiserver_request_duration_seconds_bucket\{le="0.005",verb="LIST"/)
    assert.match(text, /process_resident_memory_bytes \d/)
    watch.abort()
    while (!(await set.text()).includes('scope="cluster"} 0')) await systemClock.sleep(5)
  } finally {
    server.closeAllConnections()
    server.close()
  }
})
