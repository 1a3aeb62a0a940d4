/** A TCP proxy on loopback that does to connections what networks do: cuts, silence, delay, answers that never arrive. */
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'

export interface TcpProxy extends AsyncDisposable {
  readonly port: number
  /** Resets every connection; new ones are taken. */
  cut(): void
  /** 'up' forwards; 'refusing' closes what comes; 'silent' takes connections and bytes and forwards nothing; 'mute' forwards requests but no answers; 'holding' keeps all bytes until the mode is another. */
  mode: ProxyMode
  /** Each chunk, in both directions, is held for this long (milliseconds); the order stays. */
  delayMs: number
  /** Chunks that are kept at the moment. */
  readonly held: number
  /** Bytes forwarded to the client so far. */
  readonly answeredBytes: number
  /** When set, called after each chunk that went to the client. */
  onAnswer: (() => void) | undefined
}

export type ProxyMode = 'up' | 'refusing' | 'silent' | 'mute' | 'holding'

/** Starts a proxy before a port of 127.0.0.1. */
export async function startTcpProxy(target: number): Promise<TcpProxy> {
  const pairs = new Set<readonly [Socket, Socket]>()
  let answeredBytes = 0
  let mode: ProxyMode = 'up'
  const held: (() => void)[] = []
  const server = createServer((client) => {
    if (proxy.mode === 'refusing') {
      client.resetAndDestroy()
      return
    }
    const upstream = connect(target, '127.0.0.1')
    const pair = [client, upstream] as const
    pairs.add(pair)
    for (const socket of pair) {
      socket.setNoDelay(true)
      socket.on('error', () => {})
      socket.on('close', () => {
        pairs.delete(pair)
        for (const other of pair) other.destroy()
      })
    }
    forward(client, upstream, () => proxy.mode === 'up' || proxy.mode === 'mute')
    forward(upstream, client, () => proxy.mode === 'up', (bytes) => {
      answeredBytes += bytes
      proxy.onAnswer?.()
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')

  function forward(from: Socket, to: Socket, isOpen: () => boolean, done?: (bytes: number) => void): void {
    let turn = Promise.resolve()
    from.on('data', (chunk) => {
      if (proxy.mode === 'holding') return void held.push(() => send(chunk))
      if (!isOpen()) return
      if (proxy.delayMs === 0) return send(chunk)
      const due = new Promise<void>((resolve) => setTimeout(resolve, proxy.delayMs).unref())
      turn = turn.then(() => due).then(() => send(chunk))
    })
    const send = (chunk: Buffer): void => {
      if (to.destroyed) return
      if (!to.write(chunk)) {
        from.pause()
        to.once('drain', () => from.resume())
      }
      done?.(chunk.length)
    }
  }
  const proxy: TcpProxy = {
    port: (server.address() as AddressInfo).port,
    get mode() {
      return mode
    },
    set mode(next) {
      mode = next
      if (mode === 'holding') return
      for (const send of held.splice(0)) send()
    },
    get held() {
      return held.length
    },
    delayMs: 0,
    onAnswer: undefined,
    get answeredBytes() {
      return answeredBytes
    },
    cut() {
      for (const pair of pairs) for (const socket of pair) socket.resetAndDestroy()
    },
    async [Symbol.asyncDispose]() {
      proxy.cut()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return proxy
}
