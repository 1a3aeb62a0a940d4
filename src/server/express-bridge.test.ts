import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import express from 'express'
import supertest from 'supertest'
import { serveTls, type TlsServer } from '../../apiservice/serving.ts'
import { systemClock } from '../base/clock.ts'
import { silentLog } from '../base/log.ts'
import { ensurePki } from '../commands/pki.ts'
import { expressBridge } from './express-bridge.ts'

const root = await mkdtemp(join(tmpdir(), 'bridge-'))
const pki = await ensurePki(root, { hosts: ['127.0.0.1'], clock: systemClock })
let server: TlsServer
let url = ''

before(async () => {
  const app = express()
  app.disable('x-powered-by')
  app.use((req, res, next) => {
    res.setHeader('x-http', String(req.httpVersionMajor))
    res.locals.seen = req.path
    next()
  })
  app.get('/json', (req, res) => void res.status(201).json({ query: req.query, path: req.path, accepts: req.accepts('json'), secure: req.secure, agent: req.get('User-Agent') }))
  app.post('/body', express.json(), (req, res) => void res.json(req.body))
  app.get('/stream', (_req, res) => {
    res.writeHead(200, { 'content-type': 'text/plain' })
    res.write('a')
    setImmediate(() => res.end('b'))
  })
  const router = express.Router()
  router.get('/:name', (req, res) => void res.send(`${req.params.name} ${String(res.locals.seen)} ${String(req.app === app)}`))
  app.use('/named', router)
  app.get('/fails', async () => {
    throw new Error('no')
  })
  app.use(((error, _req, res, _next) => void res.status(500).send(String(error.message))) as express.ErrorRequestHandler)
  server = await serveTls({ handler: expressBridge(app), ...pki.server, host: '127.0.0.1', port: 0, log: silentLog, clock: systemClock })
  url = `https://127.0.0.1:${server.address.port}`
})
after(async () => {
  await server.close({ graceMs: 0 })
  await rm(root, { recursive: true })
})

for (const [http2, version] of [[false, '1'], [true, '2']] as const) {
  test(`Express answers over HTTP/${version}`, async () => {
    const agent = supertest(url, { http2 })
    const get = (path: string) => agent.get(path).ca(pki.ca).set('User-Agent', 'test').expect('x-http', version)
    await get('/json?a=1').expect(201, { query: { a: '1' }, path: '/json', accepts: 'json', secure: true, agent: 'test' })
    await get('/named/x').expect(200, 'x /named/x true')
    await get('/stream').expect(200, 'ab')
    await get('/fails').expect(500, 'no')
    await get('/nothing').expect(404)
    await agent.post('/body').ca(pki.ca).send({ b: 2 }).expect('x-http', version).expect(200, { b: 2 })
    await agent.head('/json').ca(pki.ca).expect(201)
  })
}
