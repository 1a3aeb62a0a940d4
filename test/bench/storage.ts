/**
 * Durable commits a second of the embedded store, and how long the event loop is held up meanwhile: `node test/bench/storage.ts`.
 * The plain fsync beside it says what the disk of this machine gives.
 */
import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { systemClock } from '../../src/base/clock.ts'
import { silentLog } from '../../src/base/log.ts'
import { prefixEnd } from '../../storage/backend.ts'
import type { Backend } from '../../storage/backend.ts'
import { openSqlite } from '../../storage/sqlite.ts'

const SECONDS = 5
const VALUE_BYTES = 2048

async function write(backend: Backend, writers: number): Promise<void> {
  const delay = monitorEventLoopDelay({ resolution: 1 })
  const cpu = process.cpuUsage()
  const latencies: number[] = []
  const end = performance.now() + SECONDS * 1000
  delay.enable()
  await Promise.all(
    Array.from({ length: writers }, async (_, writer) => {
      for (let i = 0; performance.now() < end; i++) {
        const start = performance.now()
        const key = `bench/${writer}/${i % 1000}`
        await backend.commit({ compare: [{ key: 'bench/fence', modRevision: 0 }], put: [{ key, value: new Uint8Array(VALUE_BYTES).fill(i) }] })
        latencies.push(performance.now() - start)
      }
    }),
  )
  delay.disable()
  const { user, system } = process.cpuUsage(cpu)
  latencies.sort((a, b) => a - b)
  print(`${writers} writers`, {
    'commits/s': Math.round(latencies.length / SECONDS),
    'p50 ms': latencies[latencies.length >> 1]!,
    'p99 ms': latencies[Math.floor(latencies.length * 0.99)]!,
    'cpu ms/commit': (user + system) / 1000 / latencies.length,
    'loop delay p50 ms': delay.percentile(50) / 1e6,
    'p99': delay.percentile(99) / 1e6,
    'max': delay.max / 1e6,
  })
}

async function read(backend: Backend): Promise<void> {
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  const start = performance.now()
  const { kvs } = await backend.range({ start: 'bench/', end: prefixEnd('bench/'), limit: 10_000 })
  const ms = performance.now() - start
  delay.disable()
  print(`range of ${kvs.length}`, { ms, 'loop delay max ms': delay.max / 1e6 })
  const gets = 5000
  const from = performance.now()
  for (let i = 0; i < gets; i += 16) await Promise.all(Array.from({ length: 16 }, (_, j) => backend.get(`bench/${j}/${i % 1000}`)))
  print('get, 16 at once', { 'gets/s': Math.round((gets / (performance.now() - from)) * 1000) })
}

function syncs(directory: string): void {
  const fd = openSync(join(directory, 'probe'), 'w')
  const start = performance.now()
  let count = 0
  for (; performance.now() - start < 1000; count++) {
    writeSync(fd, Buffer.alloc(VALUE_BYTES))
    fdatasyncSync(fd)
  }
  closeSync(fd)
  print('plain write and fdatasync', { '1/s': count })
}

function print(what: string, figures: Record<string, number>): void {
  const text = Object.entries(figures).map(([name, value]) => `${name} ${Number.isInteger(value) ? value : value.toFixed(3)}`)
  process.stdout.write(`${what}: ${text.join(', ')}\n`)
}

const directory = mkdtempSync(join(tmpdir(), 'bench-'))
try {
  syncs(directory)
  const backend = await openSqlite({ directory, clock: systemClock, log: silentLog })
  for (const writers of [1, 16, 64]) await write(backend, writers)
  await read(backend)
  await backend.close()
} finally {
  rmSync(directory, { recursive: true })
}
