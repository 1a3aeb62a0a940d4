/** What a server process takes: CPU and memory, as Linux counts them. */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'

/** True where `cpuMs` and `residentMb` know something. */
export const hasProc = existsSync('/proc/self/stat')

const ticks = hasProc ? Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' })) : 100

/** User and system time of a process and its threads so far, milliseconds, in steps of a clock tick. NaN without /proc. */
export function cpuMs(pid: number): number {
  if (!hasProc) return Number.NaN
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // The name, in parentheses, may hold anything; the state follows it.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return ((Number(fields[11]) + Number(fields[12])) / ticks) * 1000
}

/** Resident memory in MB (10^6 bytes). NaN without /proc. */
export function residentMb(pid: number): number {
  if (!hasProc) return Number.NaN
  const kib = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return (Number(kib) * 1024) / 1e6
}

/** What some work cost. */
export interface Cost {
  readonly cpuMs: number
  readonly wallMs: number
}

/** Runs `work` and measures the process meanwhile; figures are per `count`. */
export async function measure(pid: number, count: number, work: () => Promise<unknown>): Promise<Cost> {
  const [cpu, wall] = [cpuMs(pid), performance.now()]
  await work()
  return { cpuMs: (cpuMs(pid) - cpu) / count, wallMs: (performance.now() - wall) / count }
}
