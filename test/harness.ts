/** A server in this process, on the in-memory backend or a given one, over real TLS; and a client for it. */
import { mkdtempSync, rmSync } from 'node:fs'
import { request } from 'node:https'
import type { IncomingHttpHeaders } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { authorizeByRules } from '../apiservice/rules.ts'
import { clientCertificate } from '../apiservice/client-certificate.ts'
import { systemClock, type Clock } from '../src/base/clock.ts'
import { silentLog } from '../src/base/log.ts'
import { openApiServer, type ApiServer } from '../src/commands/api-server.ts'
import { writeKubeconfig } from '../src/commands/kubeconfig.ts'
import { ensurePki, type Pki } from '../src/commands/pki.ts'
import { WORKER_RULES, WORKER_USER } from '../src/commands/worker-rights.ts'
import { create } from '../src/registry/create.ts'
import { internalWrite } from '../src/registry/write.ts'
import type { ServedResource } from '../src/registry/resource-store.ts'
import { coreResources } from '../src/resources/core/index.ts'
import { resources } from '../src/resources/index.ts'
import { allowSelfReviews, serveSelfReviews } from '../src/server/self-reviews.ts'
import type { Backend } from '../storage/backend.ts'
import { openMemoryBackend } from './model/memory-backend.ts'

/** An answer, its body parsed when it is JSON. */
export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into bodies of any shape
  readonly body: any
}

export interface Send {
  readonly headers?: Record<string, string>
  /** An object is sent as JSON, a text as it is. */
  readonly body?: unknown
  /** Content-Type; default application/json for a body. */
  readonly type?: string
  /** Without client certificate. */
  readonly anonymous?: boolean
}

export interface Harness extends AsyncDisposable {
  readonly server: ApiServer
  readonly backend: Backend
  readonly pki: Pki
  /** A kubeconfig of the administrator. */
  readonly kubeconfig: string
  readonly directory: string
  send(method: string, path: string, options?: Send): Promise<Answer>
}

/** Starts a server with the namespace `default`. */
export async function startServer(options: { readonly backend?: Backend; readonly clock?: Clock; readonly resources?: readonly ServedResource[]; readonly cacheBytes?: number } = {}): Promise<Harness> {
  const clock = options.clock ?? systemClock
  const directory = mkdtempSync(join(tmpdir(), 'mlops-harness-'))
  const backend = options.backend ?? openMemoryBackend()
  const pki = await ensurePki(join(directory, 'pki'), { hosts: ['localhost', '127.0.0.1'], clock: systemClock })
  const authorize = allowSelfReviews(authorizeByRules(new Map([[WORKER_USER, WORKER_RULES]])))
  const server = await openApiServer({
    backend,
    resources: options.resources ?? [...coreResources, ...resources],
    certificates: { key: pki.server.key, cert: pki.server.cert, clientCa: pki.ca },
    authenticate: clientCertificate({ ca: pki.ca, clock: systemClock }),
    authorize,
    virtual: [serveSelfReviews({ authorize, clock })],
    host: '127.0.0.1',
    port: 0,
    cacheBytes: options.cacheBytes ?? 16 * 1024 * 1024,
    clock,
    log: silentLog,
  })
  const namespaces = server.store('Namespace')
  if (!namespaces.cache.get('default')) await create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'default' } }, internalWrite(namespaces, ''))
  const kubeconfig = join(directory, 'kubeconfig')
  await writeKubeconfig(kubeconfig, { server: server.url, ca: pki.ca, ...pki.admin, name: 'test' })
  return {
    server, backend, pki, kubeconfig, directory,
    send: (method, path, send = {}) => sendRequest(server.url, pki, method, path, send),
    async [Symbol.asyncDispose]() {
      await server.close({ graceMs: 500 })
      await backend.close()
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

/** One request over HTTP/1.1 with the administrator's certificate. `name` is what the server's certificate must be for, where that is not the host. */
export function sendRequest(url: string, pki: Pick<Pki, 'ca' | 'admin'> & { readonly name?: string }, method: string, path: string, { headers = {}, body, type, anonymous }: Send): Promise<Answer> {
  const bytes = body === undefined ? undefined : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
  const identity = anonymous ? {} : { cert: pki.admin.cert, key: pki.admin.key }
  return new Promise((resolve, reject) => {
    const req = request(`${url}${path}`, { method, ca: pki.ca, ...(pki.name === undefined ? {} : { servername: pki.name }), ...identity, agent: false, headers: { ...(bytes ? { 'content-type': type ?? 'application/json', 'content-length': bytes.length } : {}), ...headers } }, (res) => {
      const chunks: Buffer[] = []
      res.on('data', (chunk: Buffer) => chunks.push(chunk))
      res.on('error', reject)
      res.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8')
        resolve({ status: res.statusCode ?? 0, headers: res.headers, text, body: parse(text) })
      })
    })
    req.on('error', reject)
    req.end(bytes)
  })
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
