/** The commands `storage …`: flags and arguments; the work is loaded when one is called. */
import { InvalidArgumentError, Option, type Command } from 'commander'
import type { Config, StoragePlace } from '../../config.ts'
import type { CommandOptions } from './run-command.ts'

/** What main.ts lends: it alone reads argv, the environment and signals. */
export interface Outside {
  /** Adds the flags of the settings that say where the store is. */
  addPlace(command: Command): Command
  /** Where to work, from parsed flags. */
  place(flags: Readonly<Record<string, unknown>>): { readonly place: StoragePlace; readonly config: Config }
  stopSignal(): AbortSignal
  exit(code: number): void
  readonly out: NodeJS.WriteStream
  readonly err: NodeJS.WriteStream
}

type Flags = Record<string, unknown> & { readonly resource?: string; readonly output: 'text' | 'json' }

/** Adds the group to a program. */
export function addStorageCommands(program: Command, outside: Outside): void {
  const storage = program.command('storage').description('what is stored, at which version, and how it gets to another; works on the store itself when no server runs, else through the server')
  const add = (nameAndArguments: string, description: string, parent = storage): Command =>
    outside.addPlace(parent.command(nameAndArguments).description(description))
      .addOption(new Option('--resource <NAME>', 'such as notebookvalidationjobs.mlops.dev; default: the only one with several versions, or all'))
      .addOption(new Option('--crd', 'on the CustomResourceDefinition of the kube-apiserver that --kubeconfig leads to (default: that of kubectl): status, set-version, migrate, verify, trim'))
      .addOption(new Option('-o, --output <FORM>', 'text or json').choices(['text', 'json']).default('text'))
  const options = (flags: Flags, long = false): CommandOptions => {
    const { place, config } = outside.place(flags)
    const { resource, output } = flags
    return { place, output, logLevel: config.logLevel, out: outside.out, err: outside.err, ...(resource !== undefined && { resource }), ...(long && { signal: outside.stopSignal() }) }
  }
  addVersionCommands(add, options, outside)
  addMigrate(add, options, outside)
  addBundleCommands(add, options, outside)
  addQuarantineCommands(storage, add, options, outside)
}

type Add = (nameAndArguments: string, description: string, parent?: Command) => Command
type ToOptions = (flags: Flags, long?: boolean) => CommandOptions

function addVersionCommands(add: Add, options: ToOptions, { exit }: Outside): void {
  add('status', 'versions, objects by stored version, replicas, the last proof, and what to do next').action(async (flags: Flags) => {
    const { runStatus } = await import('./versions.ts')
    exit(await runStatus(options(flags)))
  })
  addVersionChange(add('set-version <VERSION>', 'writes objects at this version from now on; those that are there stay as they are')).action(async (version: string, flags: Flags) => {
    const { runSetVersion } = await import('./versions.ts')
    exit(await runSetVersion(options(flags), { version, ...versionChange(flags) }))
  })
  add('verify', 'reads all objects, and keeps the proof of what they are stored at')
    .option('--deep', 'also decodes each into every version, and makes a digest', false)
    .action(async (flags: Flags & { readonly deep: boolean }) => {
      const { runVerify } = await import('./versions.ts')
      exit(await runVerify(options(flags, true), flags))
    })
  add('trim', 'takes the versions away that the last proof found no object at').action(async (flags: Flags) => {
    const { runTrim } = await import('./versions.ts')
    exit(await runTrim(options(flags)))
  })
  add('retire-version <VERSION>', 'takes the version out of all objects and records that nothing is ever stored at it again, so that a later release may drop it; continues where it was left')
    .addOption(rateOption())
    .action(async (version: string, flags: Flags & { readonly rate?: number }) => {
      const { runRetireVersion } = await import('./migrate.ts')
      const { rate } = flags
      exit(await runRetireVersion(options(flags, true), { version, ...(rate !== undefined && { rate }) }))
    })
}

function addVersionChange(command: Command): Command {
  return command
    .option('--accept-rollback', 'a version older than the rollback floor is meant')
    .option('--dismiss <REPLICA...>', 'replicas that have vanished and will not come back')
}

function versionChange({ acceptRollback, dismiss }: Flags) {
  return { ...(acceptRollback === true && { acceptRollback }), ...(Array.isArray(dismiss) && { dismissed: dismiss as readonly string[] }) }
}

function parseRate(text: string): number {
  const rate = Number(text)
  if (!/^[0-9]+$/.test(text) || !Number.isSafeInteger(rate)) throw new InvalidArgumentError('it must be a whole number of objects')
  return rate
}

function rateOption(): Option {
  return new Option('--rate <N>', 'objects a second at most, kept until it is given anew; 0, as at first: as fast as others notice nothing').argParser(parseRate)
}

function addMigrate(add: Add, options: ToOptions, { exit }: Outside): void {
  const only = (name: string): string[] => ['dryRun', 'pause', 'resume', 'abort'].filter((other) => other !== name)
  const action = (flags: Flags) => (flags.dryRun ? 'dry-run' : flags.pause ? 'pause' : flags.abort ? 'abort' : 'run')
  addVersionChange(add('migrate', 'writes every object at the version that is set, proves it, and takes the other versions away; continues where it was left'))
    .option('--to <VERSION>', 'set this version first')
    .addOption(rateOption())
    .addOption(new Option('--dry-run', 'only say what would be done').conflicts(only('dryRun')))
    .addOption(new Option('--pause', 'let the migration rest, whoever runs it').conflicts(only('pause')))
    .addOption(new Option('--resume', 'continue it, as without this').conflicts(only('resume')))
    .addOption(new Option('--abort', 'end it; objects stay as they are').conflicts(only('abort')))
    .action(async (flags: Flags & { readonly to?: string; readonly rate?: number }) => {
      const { runMigrate } = await import('./migrate.ts')
      const { to, rate } = flags
      exit(await runMigrate(options(flags, true), { action: action(flags), ...(to !== undefined && { to }), ...(rate !== undefined && { rate }), ...versionChange(flags) }))
    })
}

function addBundleCommands(add: Add, options: ToOptions, { exit }: Outside): void {
  add('backup <FILE>', 'all objects of the store at one moment; - is standard output').action(async (file: string, flags: Flags) => {
    const { runBackup } = await import('./bundle.ts')
    exit(await runBackup(options(flags), file))
  })
  add('restore <FILE>', 'puts a backup into an empty store that no server uses').action(async (file: string, flags: Flags) => {
    const { runRestore } = await import('./bundle.ts')
    exit(await runRestore(options(flags), file))
  })
}

function addQuarantineCommands(storage: Command, add: Add, options: ToOptions, { exit }: Outside): void {
  const quarantine = storage.command('quarantine').description('objects that cannot be used')
  add('list', 'all that scans have found', quarantine).action(async (flags: Flags) => {
    const { runQuarantineList } = await import('./quarantine.ts')
    exit(await runQuarantineList(options(flags)))
  })
  add('show <KEY>', 'one of them, by its key: namespace/name', quarantine).action(async (key: string, flags: Flags) => {
    const { runQuarantineShow } = await import('./quarantine.ts')
    exit(await runQuarantineShow(options(flags), key))
  })
  add('export <KEY> <FILE>', 'its bytes, into a new file', quarantine).action(async (key: string, file: string, flags: Flags) => {
    const { runQuarantineExport } = await import('./quarantine.ts')
    exit(await runQuarantineExport(options(flags), key, file))
  })
  add('replace <KEY>', 'puts a whole object in its place', quarantine)
    .requiredOption('--expect <REVISION:SHA256>', 'the value that is meant, as show prints it')
    .requiredOption('-f, --filename <FILE>', 'the object, in any version')
    .action(async (key: string, flags: Flags & { readonly expect: string; readonly filename: string }) => {
      const { runQuarantineReplace } = await import('./quarantine.ts')
      exit(await runQuarantineReplace(options(flags), key, flags))
    })
  add('delete <KEY>', 'deletes it for good, whatever its finalizers were', quarantine)
    .requiredOption('--expect <REVISION:SHA256>', 'the value that is meant, as show prints it')
    .requiredOption('--report <FILE>', 'its bytes are kept in this new file')
    .action(async (key: string, flags: Flags & { readonly expect: string; readonly report: string }) => {
      const { runQuarantineDelete } = await import('./quarantine.ts')
      exit(await runQuarantineDelete(options(flags), key, flags))
    })
}
