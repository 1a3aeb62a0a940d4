/** What a person sees while the samples run: bars on a terminal, plain lines elsewhere. */
import { MultiBar, Presets, type SingleBar } from 'cli-progress'
import type { WriteStream } from 'node:tty'

/** A stream that may be a terminal. */
export type Output = NodeJS.WritableStream & Partial<Pick<WriteStream, 'isTTY'>>

/** Shows how far several things are, each by its name. */
export interface ProgressDisplay {
  /** `total` may grow; `message` is shown beside the count. */
  update(name: string, state: { readonly done: number; readonly total: number; readonly message: string }): void
  /** Ends the display; lines written after it stay. */
  stop(): void
}

/** Opens the display on a stream. */
export function openProgress(out: Output): ProgressDisplay {
  return out.isTTY ? bars(out) : lines(out)
}

function bars(out: Output): ProgressDisplay {
  const multi = new MultiBar({ stream: out, format: ' {name} {bar} {value}/{total} {message}', hideCursor: true, clearOnComplete: false, barsize: 24 }, Presets.shades_grey)
  const known = new Map<string, SingleBar>()
  return {
    update(name, { done, total, message }) {
      const payload = { name: name.padEnd(18), message }
      const bar = known.get(name) ?? multi.create(total, done, payload)
      known.set(name, bar)
      bar.setTotal(total)
      bar.update(done, payload)
    },
    stop: () => multi.stop(),
  }
}

// One line whenever the message changes: counts alone would flood a log.
function lines(out: Output): ProgressDisplay {
  const last = new Map<string, string>()
  return {
    update(name, { message }) {
      if (last.get(name) === message) return
      last.set(name, message)
      out.write(`${name}: ${message}\n`)
    },
    stop() {},
  }
}

/** Rows as columns of equal width, as kubectl prints tables. */
export function formatTable(rows: readonly (readonly string[])[]): string {
  const widths: number[] = []
  for (const row of rows) for (const [i, cell] of row.entries()) widths[i] = Math.max(widths[i] ?? 0, cell.length)
  return rows.map((row) => row.map((cell, i) => (i === row.length - 1 ? cell : cell.padEnd((widths[i] ?? 0) + 3))).join('').trimEnd()).join('\n')
}
