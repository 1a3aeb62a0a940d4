/** argv → command: the only place that exits the process and handles its signals. */
import { basename } from 'node:path'
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander'
import { systemClock } from './base/clock.ts'
import { readOwnVersion } from './commands/own-version.ts'
import { addStorageCommands } from './commands/storage/command.ts'
import { ConfigError, readConfig, SETTINGS, storagePlace, WORKER_KUBECONFIG, type Config, type Setting, type SettingName } from './config.ts'

/** Flags of each command, by setting. */
const STANDALONE: readonly SettingName[] = ['dataDir', 'port', 'samples', 'worker', 'concurrency', 'python', 'cacheMegabytes', 'definitions', 'lenses', 'logLevel']
const ETCD = ['etcdServers', 'etcdPrefix', 'etcdCacert', 'etcdCertfile', 'etcdKeyfile', 'etcdUser', 'etcdPassword'] as const satisfies readonly SettingName[]
const SERVE: readonly SettingName[] = [
  'dataDir', 'pkiDir', 'port', ...ETCD, 'cacheMegabytes', 'definitions', 'lenses', 'logLevel',
  'cluster', 'bindAddress', 'tlsCertFile', 'tlsPrivateKeyFile', 'tlsCaFile', 'service', 'certificateSecret', 'shutdownDelaySeconds',
]
const STORAGE: readonly SettingName[] = ['kubeconfig', 'dataDir', ...ETCD, 'definitions', 'lenses', 'logLevel']
const WEBHOOK: readonly SettingName[] = ['bindAddress', 'port', 'tlsCertFile', 'tlsPrivateKeyFile', 'cluster', 'service', 'certificateSecret', 'definitions', 'lenses', 'logLevel']
const WORKER: readonly SettingName[] = [
  'kubeconfig', 'dataDir', 'concurrency', 'statusKibibytes', 'executor', 'podImage', 'podImagePullPolicy', 'namespace', 'lease', 'python', 'logLevel',
]

/** A stop that takes longer, beside a delay that was asked for, is no stop. */
const STOP_MS = 30_000

// Aborts at the first signal. A second one changes nothing, since a stop is bounded in time: the terminal and the launcher may both send one.
function stopSignal(delayMs = 0): AbortSignal {
  const stop = new AbortController()
  const begin = (): void => {
    if (stop.signal.aborted) return
    stop.abort()
    const limitMs = STOP_MS + delayMs
    systemClock.schedule(limitMs, () => {
      process.stderr.write(`mlops-apiserver: still not stopped after ${limitMs / 1000} s, ending at once\n`)
      process.exit(1)
    })
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, begin)
  // The launcher that started this process on another Node has gone without a word. To wait for that keeps nothing alive.
  process.on('disconnect', begin)
  process.channel?.unref()
  return stop.signal
}

// A reader that has seen enough (`| head`) is no error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
  process.exit(0)
})

function addSettings(command: Command, names: readonly SettingName[]): Command {
  for (const name of names) {
    const setting: Setting = SETTINGS[name]
    const flags = setting.value ? `${setting.flag} <${setting.value}>` : setting.flag
    const shown = setting.list ? ', repeatable' : setting.flag.startsWith('--no-') || !setting.default ? '' : `, default ${setting.default}`
    const option = new Option(flags, `${setting.help} (${setting.env}${shown})`)
    // Under the setting's own name, whatever the flag is called.
    option.attributeName = () => name
    if (setting.list) option.argParser((value: string, previous: string[] | undefined) => [...(previous ?? []), value])
    command.addOption(option)
  }
  return command
}

// Commander sets a --no-x switch to true when it is absent, which says nothing.
function given(options: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== true))
}

// Else `--to --data-dir d` takes the second flag for the value of the first, and its value for an argument too many.
function refuseFlagsAsValues(command: Command): void {
  for (const child of command.commands) refuseFlagsAsValues(child)
  for (const option of command.options.filter(({ required }) => required)) {
    const parse = option.parseArg
    option.argParser((value: string, previous: unknown) => {
      const flag = command.options.find(({ long, short }) => value === short || value === long || value.startsWith(`${long}=`))
      if (flag) throw new InvalidArgumentError('It is a flag: the value before it is missing.')
      if (parse) return parse(value, previous)
      return option.variadic ? [...(Array.isArray(previous) ? previous : []), value] : value
    })
  }
}

function configOf(options: Readonly<Record<string, unknown>>): Config {
  return readConfig(given(options), process.env)
}

const program = new Command('mlops-apiserver')
  .description('Serves the Kubernetes API of mlops.dev NotebookValidationJobs from its own versioned storage, and runs the jobs.')
  .version(readOwnVersion(), '--version', 'print the version')
  .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, 'mlops-apiserver: ')) })
  .exitOverride()
  .showHelpAfterError('(add --help for the options)')

addSettings(program.command('standalone').description('everything on this machine: store, API on loopback, worker, samples'), STANDALONE).action(async (options) => {
  const { runStandalone } = await import('./commands/standalone.ts')
  await runStandalone({ ...configOf(options), etcdServers: [] }, { signal: stopSignal(), out: process.stdout })
})

addSettings(program.command('serve').description('the API without a worker: on loopback, or aggregated into a cluster; several replicas can serve one etcd'), SERVE).action(async (options) => {
  const config = configOf(options)
  if (config.cluster !== '') {
    const { runServeCluster } = await import('./commands/serve-cluster.ts')
    return await runServeCluster(config, { signal: stopSignal(config.shutdownDelaySeconds * 1000), out: process.stdout, environment: process.env })
  }
  const { runStandalone } = await import('./commands/standalone.ts')
  await runStandalone({ ...config, worker: false, samples: false }, { signal: stopSignal(), out: process.stdout })
})

addSettings(program.command('worker').description('runs the jobs of an API server'), WORKER).action(async (options) => {
  const { runWorkerCommand } = await import('./commands/worker-command.ts')
  await runWorkerCommand(readConfig(given(options), process.env, WORKER_KUBECONFIG), { signal: stopSignal(), environment: process.env })
})

addSettings(program.command('webhook').description('converts objects for a kube-apiserver that serves the CustomResourceDefinition'), WEBHOOK).action(async (options) => {
  const { runWebhook } = await import('./commands/webhook.ts')
  await runWebhook(configOf(options), { signal: stopSignal(), out: process.stdout, environment: process.env })
})

const CHECK_LIMITS = `
What is not checked of CEL rules, so that a kube-apiserver may refuse what is good here: types of operands and results (such mistakes appear when a rule runs), and
estimated costs (a rule that takes too long is stopped when it runs). What a kube-apiserver takes and is refused here, as "not served by mlops-apiserver": optional
syntax (.?, [?, {?), comprehensions of two variables, messages of protocol buffers.`

const definitions = program.command('definitions').description('CustomResourceDefinition manifests')

definitions
  .command('check')
  .description('what a kube-apiserver answers to the creation of each definition; exit 1 on errors')
  .argument('<file...>', 'files, or folders without their subfolders')
  .addOption(new Option('-o, --output <FORM>', 'text, or json: a list with a Status for each document').choices(['text', 'json']).default('text'))
  .addOption(new Option('--field-validation <MODE>', 'unknown and duplicate fields are errors, or warnings').choices(['Strict', 'Warn']).default('Strict'))
  .addHelpText('after', CHECK_LIMITS)
  .action(async (files: string[], { output, fieldValidation }) => {
    const { runDefinitionsCheck } = await import('./commands/definitions.ts')
    process.exitCode = await runDefinitionsCheck({ files, output, fieldValidation, out: process.stdout, err: process.stderr })
  })

definitions
  .command('print')
  .description('the built-in definitions as manifests')
  .action(async () => {
    const { runDefinitionsPrint } = await import('./commands/definitions.ts')
    process.exitCode = await runDefinitionsPrint({ out: process.stdout })
  })

addSettings(
  program
    .command('manifests')
    .description('what is installed in a cluster')
    .command('crd')
    .description('the CustomResourceDefinition with its webhook, its policy and the worker, for a cluster without aggregation')
    .option('--output-dir <DIR>', 'writes a folder for kubectl apply -k, in place of standard output'),
  ['definitions', 'lenses'],
).action(async ({ outputDir, ...options }) => {
  const { runManifestsCrd } = await import('./commands/manifests/command.ts')
  const { definitions: paths, lenses } = configOf(options)
  await runManifestsCrd({ definitions: paths, lenses, outputDir, out: process.stdout, err: process.stderr })
})

addSettings(
  program
    .command('convert')
    .description('rewrites manifests in another version')
    .requiredOption('-f, --filename <FILE...>', 'manifests; - is standard input')
    .requiredOption('--to <VERSION>', 'the version, such as v1'),
  ['definitions', 'lenses'],
).action(async ({ filename, to, ...options }) => {
  const { runConvert } = await import('./commands/convert.ts')
  const config = configOf(options)
  process.exitCode = await runConvert({ files: filename, to, definitions: config.definitions, lenses: config.lenses, out: process.stdout, err: process.stderr })
})

addStorageCommands(program, {
  addPlace: (command) => addSettings(command, STORAGE),
  place: (flags) => ({ place: storagePlace(given(flags), process.env, { plugin: basename(process.argv[1] ?? '').startsWith('kubectl-'), definition: flags.crd === true }), config: configOf(flags) }),
  stopSignal,
  exit(code) {
    process.exitCode = code
  },
  out: process.stdout,
  err: process.stderr,
})

refuseFlagsAsValues(program)

program
  .command('report', { hidden: true })
  .description("compares an attempt's records with its reference and writes its report; the worker calls it")
  .argument('<directory>')
  .action(async (directory: string) => {
    const { runReport } = await import('./commands/report.ts')
    process.exitCode = await runReport(directory)
  })

program
  .command('pod-step', { hidden: true })
  .description('clone and report as containers of a pod that a worker has made')
  .addArgument(program.createArgument('<step>').choices(['clone', 'report']))
  .action(async (step: 'clone' | 'report') => {
    const { runPodStep } = await import('./commands/pod-step.ts')
    process.exitCode = await runPodStep(step, { environment: process.env, signal: stopSignal(), out: process.stdout })
  })

/** Another process has the store or the port (8); the store or its disk cannot be used (9). By the name or the code of the error, so that storage is not loaded for it. */
const EXIT_CODES: ReadonlyMap<unknown, number> = new Map([
  ...['StoreLocked', 'EADDRINUSE'].map((name) => [name, 8] as const),
  ...['DirectoryUnusable', 'Unavailable', 'OutOfSpace', 'UnknownOutcome', 'ENOSPC', 'EDQUOT', 'EROFS'].map((name) => [name, 9] as const),
])

// What storage refuses has a documented code of its own.
function exitCodeOf(error: unknown): number {
  if (!(error instanceof Error)) return 1
  if (error.name === 'Refused' && 'exitCode' in error) return Number(error.exitCode)
  return EXIT_CODES.get(error.name) ?? EXIT_CODES.get('code' in error ? error.code : undefined) ?? (error.cause === undefined ? 1 : exitCodeOf(error.cause))
}

async function main(): Promise<number> {
  try {
    await program.parseAsync(process.argv)
    return Number(process.exitCode ?? 0)
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode !== 0 && process.argv[2] === 'storage' ? 2 : error.exitCode
    const text = error instanceof Error ? error.message : String(error)
    process.stderr.write(text.split('\n').map((line) => `mlops-apiserver: ${line}\n`).join(''))
    return error instanceof ConfigError ? 2 : exitCodeOf(error)
  }
}

const code = await main()
// Not by running dry: after connections that were cut off Node may count a request that never ends, and its clean-up then spins for ever
// (node::Environment::CleanupHandles). What has been written goes out first.
process.stdout.write('', () => process.stderr.write('', () => process.exit(code)))
