/**
 * Who owns what, between the stored list of entries and the sets that are computed with.
 * upstream: apimachinery/pkg/util/managedfields/internal/{managedfields,managedfieldsupdater}.go, structured-merge-diff/fieldpath/managers.go
 */
import { compareBytes, goJsonString } from '../go-text.ts'
import type { JsonObject } from '../object.ts'
import type { FieldSet } from './field-set.ts'
import { fromFieldsV1, toFieldsV1 } from './serialize.ts'

/** What a manager owns, in the terms of one version. */
export interface OwnedFields {
  readonly set: FieldSet
  readonly apiVersion: string
  /** By apply; else by updates. */
  readonly applied: boolean
}

/** Manager identifier (see `managerIdentifier`) → what it owns. */
export type Managers = ReadonlyMap<string, OwnedFields>

/** Managers with the times of their entries, RFC 3339. */
export interface Managed {
  readonly managers: Managers
  readonly times: ReadonlyMap<string, string>
}

/** Nobody owns anything, as before tracking starts. */
export const NO_MANAGERS: Managed = { managers: new Map(), times: new Map() }

/** What tells managers apart. */
export interface ManagerInfo {
  readonly manager: string
  readonly operation: 'Apply' | 'Update'
  /** Tells updaters apart, not appliers. */
  readonly apiVersion: string
  readonly subresource: string
}

/** The identifier of a manager; texts about several managers follow its order. upstream: BuildManagerIdentifier */
export function managerIdentifier({ manager, operation, apiVersion, subresource }: ManagerInfo): string {
  const fields = { manager, operation, apiVersion: operation === 'Apply' ? '' : apiVersion, subresource }
  const members = Object.entries(fields).filter(([, value]) => value !== '')
  return `{${members.map(([name, value]) => `"${name}":${goJsonString(value)}`).join(',')}}`
}

/** The manager that an identifier stands for. */
export function managerInfo(identifier: string): ManagerInfo {
  return { manager: '', operation: 'Update', apiVersion: '', subresource: '', ...(JSON.parse(identifier) as Partial<ManagerInfo>) }
}

/** Reads metadata.managedFields, which has passed the coercion of metadata. Throws Error when an entry is not valid. upstream: DecodeManagedFields */
export function decodeManagedFields(entries: readonly JsonObject[] | undefined): Managed {
  const managers = new Map<string, OwnedFields>()
  const times = new Map<string, string>()
  for (const [i, { manager = '', operation, apiVersion = '', time, fieldsType = '', fieldsV1, subresource = '' }] of (entries ?? []).entries()) {
    if (operation !== 'Apply' && operation !== 'Update') throw new Error('operation must be `Apply` or `Update`')
    if (apiVersion === '') throw new Error('apiVersion must not be empty')
    if (fieldsType === '') throw new Error(`missing fieldsType in managed fields entry ${i}`)
    if (fieldsType !== 'FieldsV1') throw new Error(`invalid fieldsType "${String(fieldsType)}" in managed fields entry ${i}`)
    const info = { manager: String(manager), operation, apiVersion: String(apiVersion), subresource: String(subresource) } as const
    const identifier = managerIdentifier(info)
    managers.set(identifier, { set: fromFieldsV1(fieldsV1 ?? {}), apiVersion: info.apiVersion, applied: operation === 'Apply' })
    if (typeof time === 'string') times.set(identifier, time)
    else times.delete(identifier)
  }
  return { managers, times }
}

/** metadata.managedFields in upstream's order; nothing when nobody owns anything. upstream: encodeManagedFields */
export function encodeManagedFields({ managers, times }: Managed): JsonObject[] | undefined {
  if (managers.size === 0) return undefined
  const entries = [...managers].map(([identifier, owned]) => ({ ...managerInfo(identifier), owned, time: times.get(identifier) }))
  entries.sort((a, b) =>
    compareBytes(operationOf(a.owned, a), operationOf(b.owned, b)) || seconds(a.time) - seconds(b.time) ||
    compareBytes(a.manager, b.manager) || compareBytes(a.owned.apiVersion, b.owned.apiVersion) || compareBytes(a.subresource, b.subresource))
  return entries.map(({ owned, time, manager, subresource, ...info }) => ({
    apiVersion: owned.apiVersion,
    fieldsType: 'FieldsV1',
    fieldsV1: toFieldsV1(owned.set),
    ...(manager === '' ? {} : { manager }),
    operation: operationOf(owned, info),
    ...(subresource === '' ? {} : { subresource }),
    ...(time === undefined ? {} : { time }),
  }))
}

function operationOf(owned: OwnedFields, info: { readonly operation: 'Apply' | 'Update' }): string {
  return owned.applied ? 'Apply' : info.operation
}

/** Seconds since the epoch; an entry without time is as old as can be. */
export function seconds(time: string | undefined): number {
  return time === undefined ? 0 : Math.floor(Date.parse(time) / 1000)
}
