/** Table columns that several core kinds share. upstream: pkg/printers/internalversion/printers.go */
import type { KubeObject } from '../../api/object.ts'
import type { ComputedColumn } from '../../api/resource.ts'
import { formatAge } from '../../api/age.ts'

/** The object's name. */
export const NAME: ComputedColumn = { name: 'Name', type: 'string', format: 'name', description: 'Name of the object', cell: (object) => object.metadata.name ?? '' }

/** How long ago a time was, or `<unknown>`. */
export function since(time: string | undefined, now: number): string {
  return formatAge(time ?? '', now)
}

/** The object's age. */
export const CREATED_AT: ComputedColumn = {
  name: 'Age',
  type: 'string',
  description: 'Time since the object was created',
  cell: (object: KubeObject, now: number) => since(object.metadata.creationTimestamp, now),
}
