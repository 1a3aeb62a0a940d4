/** The command `worker`: runs jobs until it is told to stop. Its progress goes to the parent process when there is one. */
import { type Config, ConfigError } from '../config.ts'
import { systemClock } from '../base/clock.ts'
import { openLog } from '../base/log.ts'
import { runWorker } from './worker.ts'
import { runWorkerPods, type WorkerPodsOptions } from './worker-pods.ts'

/** What a report fits into by itself. */
const WHOLE_STATUS_KIBIBYTES = 256

/** Runs until the signal aborts, or until the parent that started it is gone. */
export async function runWorkerCommand(config: Config, options: { readonly signal: AbortSignal; readonly environment: Readonly<Record<string, string | undefined>> }): Promise<void> {
  const orphaned = new AbortController()
  process.once('disconnect', () => orphaned.abort())
  const common = {
    kubeconfig: config.kubeconfig,
    concurrency: config.concurrency,
    ...(config.statusKibibytes < WHOLE_STATUS_KIBIBYTES && { maxStatusBytes: config.statusKibibytes * 1024 }),
    log: openLog(config.logLevel),
    clock: systemClock,
    signal: AbortSignal.any([options.signal, orphaned.signal]),
  }
  if (config.executor === 'pods') return await runWorkerPods({ ...common, ...podOptions(config) })
  await runWorker({
    ...common,
    dataDir: config.dataDir,
    python: config.python,
    environment: options.environment,
    onProgress: (progress) => {
      if (process.connected) process.send?.(progress)
    },
  })
  if (process.connected) process.disconnect()
}

function podOptions({ podImage, podImagePullPolicy, namespace, lease }: Config): Pick<WorkerPodsOptions, 'settings' | 'namespace' | 'lease'> {
  if (podImage === '') throw new ConfigError(['--pod-image: the image of this program is needed for --executor pods'])
  return {
    settings: { image: podImage, ...(podImagePullPolicy === '' ? {} : { imagePullPolicy: podImagePullPolicy }) },
    lease,
    ...(namespace === '' ? {} : { namespace }),
  }
}
