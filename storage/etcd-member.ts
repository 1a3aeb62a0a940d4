/**
 * One endpoint of etcd over the raw RPC clients of the etcd3 package. Nothing is tried again here: the package's own fault handling would
 * send a commit twice, close healthy connections and hide what gRPC said, so all calls go around it.
 */
import { noop } from 'cockatiel'
import { AuthClient, KVClient, LeaseClient, MaintenanceClient, WatchClient } from 'etcd3'
import type { ICallable, IOptions } from 'etcd3'
import { ConnectionPool } from 'etcd3/lib/connection-pool.js'
import type { Host } from 'etcd3/lib/connection-pool.js'

/** PEM texts. */
export interface EtcdTls {
  /** Who signed etcd's certificates. */
  readonly ca: string
  /** The client certificate and its key. */
  readonly cert?: string
  readonly key?: string
}

export interface Member {
  readonly endpoint: string
  readonly kv: KVClient
  readonly lease: LeaseClient
  readonly maintenance: MaintenanceClient
  readonly auth: AuthClient
  readonly watch: WatchClient
  /**
   * Waits for a connection that is being made; false when that takes until `deadline` (milliseconds since the epoch). True does not mean that there
   * is one: without it a call fails at once, is not sent and says why.
   */
  settled(deadline: number): Promise<boolean>
  close(): void
}

const GRPC_OPTIONS: NonNullable<IOptions['grpcOptions']> = {
  'grpc.max_receive_message_length': -1,
  'grpc.enable_retries': 0,
  'grpc.service_config_disable_resolution': 1,
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 1000,
  // etcd refuses clients that ping more often than every 5 seconds (--grpc-keepalive-min-time).
  'grpc.keepalive_time_ms': 10_000,
  'grpc.keepalive_timeout_ms': 5000,
  'grpc-node.flow_control_window': 4 * 1024 * 1024,
}

/** grpc-js' connectivityState: idle, connecting. */
const UNSETTLED: readonly number[] = [0, 1]

type Unary = (request: unknown, metadata: unknown, options: unknown, done: (error: Error | null, response: unknown) => void) => void

/** Opens an endpoint ("http://…" or "https://…"); it connects at the first call. `token` is sent along when there is one. */
export function openMember(endpoint: string, tls: EtcdTls | undefined, token: () => string | undefined): Member {
  const pool = new ConnectionPool({
    hosts: endpoint,
    grpcOptions: GRPC_OPTIONS,
    faultHandling: { host: () => noop, global: noop },
    ...(tls && {
      credentials: {
        rootCertificate: Buffer.from(tls.ca),
        ...(tls.cert !== undefined && tls.key !== undefined && { certChain: Buffer.from(tls.cert), privateKey: Buffer.from(tls.key) }),
      },
    }),
  })
  const callable = toCallable(pool, token)
  return {
    endpoint,
    kv: new KVClient(callable),
    lease: new LeaseClient(callable),
    maintenance: new MaintenanceClient(callable),
    auth: new AuthClient(callable),
    watch: new WatchClient(callable),
    settled: (deadline) => pool.withConnection('KV', ({ client }) => settles(client.getChannel(), deadline)),
    close: () => pool.close(),
  }
}

/** The pool closes connections when a call throws inside of it; so failures leave it as values. */
function toCallable(pool: ConnectionPool, token: () => string | undefined): ICallable<Host> {
  const callable: ICallable<Host> = {
    callOptionsFactory: undefined,
    markFailed: () => {},
    withConnection: (service, use) =>
      pool.withConnection(service, ({ resource, client, metadata }) => {
        // A member that lost its leader ends streams and refuses calls at once, instead of being silent.
        metadata.set('hasleader', 'true')
        const current = token()
        if (current !== undefined) metadata.set('token', current)
        return use({ resource, client, metadata })
      }),
    async exec<T>(service: Parameters<ICallable<Host>['exec']>[0], method: string, request: unknown, options?: unknown): Promise<T> {
      const outcome = await callable.withConnection(service, ({ client, metadata }) => {
        const call = (client as unknown as Record<string, Unary>)[method]!.bind(client)
        return new Promise<{ error: Error | null; response: T }>((resolve) => {
          call(request, metadata, options ?? {}, (error, response) => resolve({ error, response: response as T }))
        })
      })
      if (outcome.error) throw outcome.error
      return outcome.response
    },
  }
  return callable
}

interface Channel {
  getConnectivityState(connect: boolean): number
  watchConnectivityState(state: number, deadline: number, changed: (timeout?: Error) => void): void
}

async function settles(channel: Channel, deadline: number): Promise<boolean> {
  for (let state = channel.getConnectivityState(true); UNSETTLED.includes(state); state = channel.getConnectivityState(true)) {
    const before = state
    const inTime = await new Promise<boolean>((resolve) => channel.watchConnectivityState(before, deadline, (timeout) => resolve(!timeout)))
    if (!inTime) return false
  }
  return true
}
