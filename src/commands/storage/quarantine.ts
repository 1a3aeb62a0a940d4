/** `storage quarantine …`: objects that cannot be used. */
import { readFile, writeFile } from 'node:fs/promises'
import type { Expected } from '../../../storage/quarantine.ts'
import { decodeJson, decodeYaml } from '../../api/codec.ts'
import { isObject, type JsonObject } from '../../api/object.ts'
import type { QuarantinedContent, QuarantinedObject } from '../../registry/storage-admin.ts'
import { formatTable } from '../show-progress.ts'
import { UsageError } from './exit-code.ts'
import { chooseResource, runStorageCommand, type CommandOptions } from './run-command.ts'

const SHOWN_BYTES = 2000

/** Lists what is in quarantine, of one resource or of all. */
export function runQuarantineList(options: CommandOptions): Promise<number> {
  return runStorageCommand(options, async ({ admin, resource, print }) => {
    const names = resource === undefined ? (await admin.list()).map((status) => status.resource) : [resource]
    const found: QuarantinedObject[] = []
    for (const name of names) found.push(...(await admin.listQuarantined(name)))
    print(found, describeList)
    return 0
  })
}

function describeList(found: readonly QuarantinedObject[]): string[] {
  if (found.length === 0) return ['nothing is in quarantine']
  return [formatTable([['RESOURCE', 'KEY', 'CLASS', 'BYTES', 'SINCE', 'MESSAGE'], ...found.map(({ resource, key, class: problem, bytes, since, message }) => [resource, key, problem, String(bytes), since, message])])]
}

/** Shows one value, and how it is named in the commands that repair it. */
export function runQuarantineShow(options: CommandOptions, key: string): Promise<number> {
  return runStorageCommand(options, async (context) => {
    const { resource } = await chooseResource(context)
    context.print(await context.admin.showQuarantined(resource, key), describeContent)
    return 0
  })
}

function describeContent(found: QuarantinedContent): string[] {
  const value = Buffer.from(found.value, 'base64')
  const expect = `--expect ${expectation(found)}`
  return [
    `${found.key} of ${found.resource}: ${found.class}: ${found.message}`,
    `revision ${found.modRevision}, ${found.bytes} bytes, sha256 ${found.sha256}, since ${found.since}`,
    '',
    printable(value.subarray(0, SHOWN_BYTES)) + (value.length > SHOWN_BYTES ? ' …' : ''),
    '',
    `storage quarantine export ${found.key} FILE`,
    `storage quarantine replace ${found.key} ${expect} --filename OBJECT.yaml (whole, with the metadata.uid and creationTimestamp that it had: the bytes show them, else a backup that is restored into another store)`,
    `storage quarantine delete ${found.key} ${expect} --report FILE`,
  ]
}

// What no terminal must get to see, as escapes.
function printable(bytes: Uint8Array): string {
  return [...bytes].map((byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : `\\x${byte.toString(16).padStart(2, '0')}`)).join('')
}

function expectation({ modRevision, sha256 }: Expected): string {
  return `${modRevision}:${sha256}`
}

function parseExpectation(text: string): Expected {
  const [, revision, sha256 = ''] = /^(\d+):([0-9a-f]{64})$/.exec(text) ?? []
  if (revision === undefined) throw new UsageError(`--expect: REVISION:SHA256 as "quarantine show" prints it, got "${text}"`)
  return { modRevision: Number(revision), sha256 }
}

/** Writes the bytes of a value into a new file. */
export function runQuarantineExport(options: CommandOptions, key: string, file: string): Promise<number> {
  return runStorageCommand(options, async (context) => {
    const { resource } = await chooseResource(context)
    const found = await context.admin.showQuarantined(resource, key)
    await keep(found, file)
    context.print({ file, ...found }, () => [`${file}: ${found.bytes} bytes of ${key} at revision ${found.modRevision}`])
    return 0
  })
}

async function keep({ value }: QuarantinedContent, file: string): Promise<void> {
  await writeFile(file, Buffer.from(value, 'base64'), { flag: 'wx', mode: 0o600, flush: true })
}

/** Puts an object from a manifest in the place of a value. */
export function runQuarantineReplace(options: CommandOptions, key: string, { expect, filename }: { readonly expect: string; readonly filename: string }): Promise<number> {
  return runStorageCommand(options, async (context) => {
    const expected = parseExpectation(expect)
    const object = await readObject(filename)
    const { resource } = await chooseResource(context)
    const revision = await context.admin.replaceQuarantined(resource, key, object, expected)
    context.print({ resource, key, revision }, () => [`${key} of ${resource} is replaced, at revision ${revision}`])
    return 0
  })
}

async function readObject(filename: string): Promise<JsonObject> {
  const text = await readFile(filename, 'utf8')
  const { value } = filename.endsWith('.json') ? decodeJson(text) : decodeYaml(text)
  if (!isObject(value)) throw new UsageError(`${filename}: holds no object`)
  return value
}

/** Deletes a value for good, after its bytes were written into a new file. */
export function runQuarantineDelete(options: CommandOptions, key: string, { expect, report }: { readonly expect: string; readonly report: string }): Promise<number> {
  return runStorageCommand(options, async (context) => {
    const expected = parseExpectation(expect)
    const { resource } = await chooseResource(context)
    await keep(await context.admin.showQuarantined(resource, key), report)
    await context.admin.deleteQuarantined(resource, key, expected)
    context.print({ resource, key, report }, () => [`${key} of ${resource} is deleted; its bytes are in ${report}`])
    return 0
  })
}
