/** Ports of loopback for programs that must be told theirs before they start. */
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'

/** As many different ports that nobody listens on at this moment. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer().listen(0, '127.0.0.1')
      await once(server, 'listening')
      return server
    }),
  )
  const ports = servers.map((server) => (server.address() as AddressInfo).port)
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
  return ports
}

/** One such port. */
export async function freePort(): Promise<number> {
  const [port] = await freePorts(1)
  return port!
}
