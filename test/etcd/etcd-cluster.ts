/** Real etcd on loopback: one member or three, which can be killed, stopped and continued. Everything it makes goes when it is disposed of. */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Etcd3 } from 'etcd3'
import { freePorts } from '../free-ports.ts'
import { etcdBinary } from './etcd-binaries.ts'
import type { EtcdVersion } from './etcd-binaries.ts'

const START_TIMEOUT_MS = 30_000
/** The contract's largest value is a little above etcd's default. */
const MAX_REQUEST_BYTES = 2 * 1024 * 1024

/** PEM texts; `ca` has signed both certificates. */
export interface ClusterTls {
  readonly ca: string
  readonly server: { readonly cert: string; readonly key: string }
  readonly client: { readonly cert: string; readonly key: string }
}

export interface ClusterOptions {
  readonly version: EtcdVersion
  readonly members?: 1 | 3
  /** Serves clients over TLS and wants a certificate of them. */
  readonly tls?: ClusterTls
  readonly args?: readonly string[]
}

export interface EtcdMember {
  readonly endpoint: string
  readonly port: number
  /** SIGKILL; resolves when it is gone. */
  kill(): Promise<void>
  /** Starts it again on the same data. */
  start(): void
  /** SIGSTOP and SIGCONT. */
  stop(): void
  continue(): void
}

export interface EtcdCluster extends AsyncDisposable {
  readonly members: readonly EtcdMember[]
  readonly endpoints: readonly string[]
  /** A plain client for what the store itself does not do. */
  readonly client: Etcd3
  /** Waits until a write goes through. */
  ready(): Promise<void>
  leader(): Promise<EtcdMember>
}

/** Starts a cluster and waits until it takes writes. */
export async function startCluster({ version, members: size = 1, tls, args = [] }: ClusterOptions): Promise<EtcdCluster> {
  const binary = await etcdBinary(version)
  const directory = await mkdtemp(join(tmpdir(), 'etcd-'))
  const ports = await freePorts(size * 2)
  const scheme = tls ? 'https' : 'http'
  const tlsArgs = tls ? await writeCertificates(directory, tls) : []
  const peers = ports.slice(size).map((port, i) => `m${i}=http://127.0.0.1:${port}`).join(',')
  const members = ports.slice(0, size).map((port, i) => {
    const [client, peer] = [`${scheme}://127.0.0.1:${port}`, `http://127.0.0.1:${ports[size + i]}`]
    return startMember(binary, join(directory, `m${i}.log`), client, port, [
      '--name', `m${i}`, '--data-dir', join(directory, `m${i}`), '--listen-client-urls', client, '--advertise-client-urls', client,
      '--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer, '--initial-cluster', peers, '--max-request-bytes', `${MAX_REQUEST_BYTES}`, '--logger', 'zap', '--log-level', 'error',
      ...tlsArgs, ...args,
    ])
  })
  const endpoints = members.map((member) => member.endpoint)
  const client = openClient(endpoints, tls)
  const cluster: EtcdCluster = {
    members,
    endpoints,
    client,
    ready: () => eventually(() => client.put('cluster-ready').value('').exec(), () => logs(directory, size)),
    async leader() {
      for (;;) {
        for (const member of members) if (await isLeader(member, tls)) return member
        await sleep(100)
      }
    },
    async [Symbol.asyncDispose]() {
      client.close()
      await Promise.all(members.map((member) => member.kill()))
      await rm(directory, { recursive: true, force: true })
    },
  }
  try {
    await cluster.ready()
  } catch (err) {
    await cluster[Symbol.asyncDispose]()
    throw err
  }
  return cluster
}

function startMember(binary: string, log: string, endpoint: string, port: number, args: readonly string[]): EtcdMember {
  let child: ChildProcess | undefined
  const start = (): void => {
    // It dies with this process, however that ends.
    child = spawn('setpriv', ['--pdeathsig', 'KILL', binary, ...args], { stdio: ['ignore', 'pipe', 'pipe'], env: { PATH: process.env['PATH'] } })
    const file = createWriteStream(log, { flags: 'a' })
    child.stdout?.pipe(file, { end: false })
    child.stderr?.pipe(file, { end: false })
    child.once('close', () => file.end())
  }
  start()
  return {
    endpoint,
    port,
    start,
    async kill() {
      if (!child || child.exitCode !== null || child.signalCode !== null) return
      const gone = once(child, 'close')
      child.kill('SIGKILL')
      await gone
    },
    stop: () => void child?.kill('SIGSTOP'),
    continue: () => void child?.kill('SIGCONT'),
  }
}

async function writeCertificates(directory: string, { ca, server }: ClusterTls): Promise<string[]> {
  const paths = ['ca.pem', 'cert.pem', 'key.pem'].map((name) => join(directory, name)) as [string, string, string]
  await Promise.all([ca, server.cert, server.key].map((text, i) => writeFile(paths[i]!, text, { mode: 0o600 })))
  // The gateway would come to etcd with the server's certificate, which is none for clients.
  return ['--trusted-ca-file', paths[0], '--cert-file', paths[1], '--key-file', paths[2], '--client-cert-auth', '--enable-grpc-gateway=false']
}

function openClient(hosts: string[], tls: ClusterTls | undefined): Etcd3 {
  if (!tls) return new Etcd3({ hosts })
  const [rootCertificate, certChain, privateKey] = [tls.ca, tls.client.cert, tls.client.key].map((text) => Buffer.from(text)) as [Buffer, Buffer, Buffer]
  return new Etcd3({ hosts, credentials: { rootCertificate, certChain, privateKey } })
}

async function isLeader({ endpoint }: EtcdMember, tls: ClusterTls | undefined): Promise<boolean> {
  const client = openClient([endpoint], tls)
  try {
    const { header, leader } = await client.maintenance.status({ deadline: Date.now() + 1000 })
    return header.member_id === leader
  } catch {
    return false
  } finally {
    client.close()
  }
}

async function eventually(attempt: () => Promise<unknown>, explain: () => Promise<string>): Promise<void> {
  for (const end = Date.now() + START_TIMEOUT_MS; ; await sleep(100)) {
    try {
      await attempt()
      return
    } catch (err) {
      if (Date.now() > end) throw new Error(`etcd does not start: ${await explain()}`, { cause: err })
    }
  }
}

async function logs(directory: string, size: number): Promise<string> {
  return (await Promise.all(Array.from({ length: size }, (_, i) => readFile(join(directory, `m${i}.log`), 'utf8').catch(() => '')))).join('\n')
}
