/** `storage status`, `set-version`, `verify`, `trim`. */
import { EXIT_CODES } from '../../../storage/refused.ts'
import type { VersionChange } from '../../registry/storage-admin.ts'
import { openProgress } from '../show-progress.ts'
import { describeAll, describeStatus, describeVerification } from './describe.ts'
import { chooseResource, runStorageCommand, type CommandContext, type CommandOptions } from './run-command.ts'

/** Prints what the store holds, of one resource or of all. */
export function runStatus(options: CommandOptions): Promise<number> {
  return runStorageCommand(options, async ({ admin, resource, print }) => {
    print(resource === undefined ? await admin.list() : [await admin.status(resource)], describeAll)
    return 0
  })
}

/** Changes the version that objects are written in from now on. */
export function runSetVersion(options: CommandOptions, change: VersionChange): Promise<number> {
  return runStorageCommand(options, async (context) => {
    const { resource } = await chooseResource(context)
    context.print(await context.admin.setVersion(resource, change), describeStatus)
    return 0
  })
}

/** Scans the objects of one resource or of all, and keeps the proof. Exit code 5 when one cannot be used, or is not at the encoding version. */
export function runVerify(options: CommandOptions, { deep }: { readonly deep: boolean }): Promise<number> {
  return runStorageCommand(options, async (context) => {
    const { admin, print, resource } = context
    const statuses = resource === undefined ? await admin.list() : [await admin.status(resource)]
    const found = []
    for (const status of statuses.filter(({ versions }) => versions.length > 0 || resource !== undefined)) {
      found.push({ resource: status.resource, encodingVersion: status.encodingVersion, ...(await verifyOne(context, status.resource, deep)) })
    }
    print(found, (all) => all.flatMap((one) => describeVerification(one.resource, one)))
    const clean = found.every(({ proof, encodingVersion, complete }) => proof.undecodable === 0 && complete !== false && Object.keys(proof.byVersion).every((version) => version === encodingVersion))
    return clean ? 0 : EXIT_CODES.OldObjectsFound
  })
}

async function verifyOne({ admin, err, signal }: CommandContext, resource: string, deep: boolean) {
  const display = err.isTTY ? openProgress(err) : undefined
  try {
    const onProgress = ({ done, total }: { done: number; total: number }): void => display?.update('verify', { done, total, message: resource })
    return await admin.verify(resource, { deep, onProgress, ...(signal && { signal }) })
  } finally {
    display?.stop()
  }
}

/** Takes away the versions that the last proof found no object at. */
export function runTrim(options: CommandOptions): Promise<number> {
  return runStorageCommand(options, async (context) => {
    const { resource } = await chooseResource(context)
    context.print(await context.admin.trim(resource), describeStatus)
    return 0
  })
}
