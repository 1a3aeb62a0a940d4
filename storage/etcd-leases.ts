/** Leases of etcd, and which of them this process has to end when it stops. */
import { LeaseExpired } from './backend.ts'
import type { Lease } from './backend.ts'
import { failureKind, isRpcFailure } from './etcd-failure.ts'
import type { EtcdTransport } from './etcd-transport.ts'

export interface EtcdLeases {
  grant(ttlSeconds: number): Promise<Lease>
  /** Ends all that are left. Never rejects: what cannot be ended now ends by its time to live. */
  revokeAll(): Promise<void>
}

/** `run` wraps each call: it refuses calls once the store is closed, and translates errors. */
export function openLeases(transport: EtcdTransport, run: <T>(call: () => Promise<T>) => Promise<T>): EtcdLeases {
  const live = new Set<string>()

  const revoke = async (id: string): Promise<void> => {
    try {
      await transport.leaseRevoke(id)
    } catch (err) {
      if (!isGone(err)) throw err
    }
    live.delete(id)
  }
  return {
    async grant(ttlSeconds) {
      const id = await transport.leaseGrant(ttlSeconds)
      live.add(id)
      return {
        id,
        keepAlive: () =>
          run(async () => {
            // Revoked by us: etcd would say the same, after a round trip.
            const ttl = live.has(id) ? await transport.leaseKeepAlive(id) : 0
            if (ttl > 0) return
            live.delete(id)
            throw new LeaseExpired(`lease ${id} has ended`)
          }),
        revoke: () => run(() => revoke(id)),
      }
    },
    async revokeAll() {
      await Promise.allSettled([...live].map(revoke))
    },
  }
}

function isGone(err: unknown): boolean {
  return isRpcFailure(err) && failureKind(err) === 'noLease'
}
