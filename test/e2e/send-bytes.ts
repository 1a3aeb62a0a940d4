/** Requests and answers that are no text. */
import { request } from 'node:https'
import type { Harness } from '../harness.ts'

export interface SendBytes {
  readonly accept?: string
  readonly type?: string
  readonly body?: Uint8Array
}

/** One request with the administrator's certificate. */
export function sendBytes({ server, pki }: Harness, method: string, path: string, { accept, type, body }: SendBytes = {}): Promise<{ status: number; type: string; bytes: Buffer }> {
  const headers = { ...(accept ? { accept } : {}), ...(type ? { 'content-type': type } : {}), ...(body ? { 'content-length': body.length } : {}) }
  return new Promise((resolve, reject) => {
    const req = request(`${server.url}${path}`, { method, ca: pki.ca, cert: pki.admin.cert, key: pki.admin.key, agent: false, headers }, (res) => {
      const chunks: Buffer[] = []
      res.on('data', (chunk: Buffer) => chunks.push(chunk))
      res.on('error', reject)
      res.on('end', () => resolve({ status: res.statusCode ?? 0, type: String(res.headers['content-type']), bytes: Buffer.concat(chunks) }))
    })
    req.on('error', reject)
    req.end(body)
  })
}
