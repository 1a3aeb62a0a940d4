/** The command `worker`: runs jobs until it is told to stop. Its progress goes to the parent process when there is one. */
import type { Config } from '../config.ts'
import { systemClock } from '../base/clock.ts'
import { openLog } from '../base/log.ts'
import { runWorker } from './worker.ts'

/** What a report fits into by itself. */
const WHOLE_STATUS_KIBIBYTES = 256

/** Runs until the signal aborts, or until the parent that started it is gone. */
export async function runWorkerCommand(config: Config, options: { readonly signal: AbortSignal; readonly environment: Readonly<Record<string, string | undefined>> }): Promise<void> {
  const orphaned = new AbortController()
  process.once('disconnect', () => orphaned.abort())
  await runWorker({
    kubeconfig: config.kubeconfig,
    dataDir: config.dataDir,
    python: config.python,
    concurrency: config.concurrency,
    ...(config.statusKibibytes < WHOLE_STATUS_KIBIBYTES && { maxStatusBytes: config.statusKibibytes * 1024 }),
    environment: options.environment,
    log: openLog(config.logLevel),
    clock: systemClock,
    signal: AbortSignal.any([options.signal, orphaned.signal]),
    onProgress: (progress) => {
      if (process.connected) process.send?.(progress)
    },
  })
  if (process.connected) process.disconnect()
}
