/**
 * The cells of the Table form of objects.
 * upstream: apiextensions-apiserver/pkg/registry/customresource/tableconvertor/tableconvertor.go
 */
import { formatAge } from './age.ts'
import { compileJsonPath, EvaluationError } from './json-path.ts'
import { isInteger, isNumber, isObject, toNumber, type Float, type Json, type KubeObject } from './object.ts'
import type { ComputedColumn, PrinterColumn, VersionDefinition } from './resource.ts'
import { formatGoFloat, renderJson } from './status.ts'

/** metav1.TableColumnDefinition, all keys always present. */
export interface TableColumnDefinition {
  readonly name: string
  readonly type: string
  readonly format: string
  readonly description: string
  readonly priority: number
}

/** A cell; a bigint is an int64 beyond 2^53. */
export type Cell = string | number | bigint | boolean | null

/** The columns of a version, compiled. */
export interface Columns {
  readonly definitions: readonly TableColumnDefinition[]
  readonly cells: readonly ((object: KubeObject, now: number) => Cell)[]
}

const NAME: TableColumnDefinition = {
  name: 'Name',
  type: 'string',
  format: 'name',
  description:
    'Name must be unique within a namespace. Is required when creating resources, although some resources may allow a client to request the generation of an appropriate name automatically. ' +
    'Name is primarily intended for creation idempotence and configuration definition. Cannot be updated. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names',
  priority: 0,
}

/** The column of a version that defines none. */
export const AGE: PrinterColumn = {
  name: 'Age',
  type: 'date',
  jsonPath: '.metadata.creationTimestamp',
  description:
    'CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed to be set in happens-before order across separate operations. ' +
    'Clients may not set this value. It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. ' +
    'More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata',
}

/**
 * Compiles the columns of a version: the name, then its printer columns (Age when it has none), or `computed` in their place.
 * Computed columns may place the name themselves, by a column called Name. Throws Error for a JSONPath that does not parse.
 */
export function compileColumns(version: Pick<VersionDefinition, 'additionalPrinterColumns'>, computed?: readonly ComputedColumn[]): Columns {
  const name: Columns = { definitions: [NAME], cells: [(object) => object.metadata.name ?? ''] }
  const columns = computed === undefined ? printerColumns(version) : computedColumns(computed)
  if (computed?.some((column) => column.name === NAME.name)) return columns
  return { definitions: [...name.definitions, ...columns.definitions], cells: [...name.cells, ...columns.cells] }
}

function printerColumns(version: Pick<VersionDefinition, 'additionalPrinterColumns'>): Columns {
  const columns = version.additionalPrinterColumns?.length ? version.additionalPrinterColumns : [AGE]
  return {
    definitions: columns.map((column) => define(column, `Custom resource definition column (in JSONPath format): ${column.jsonPath}`)),
    cells: columns.map(compileCell),
  }
}

function computedColumns(columns: readonly ComputedColumn[]): Columns {
  return {
    definitions: columns.map((column) => define(column, '')),
    cells: columns.map((column) => (object, now) => column.cell(object, now)),
  }
}

function define({ name, type, format = '', description, priority = 0 }: Omit<PrinterColumn, 'jsonPath'>, fallback: string): TableColumnDefinition {
  return { name, type, format, description: description || fallback, priority }
}

function compileCell({ type, jsonPath }: PrinterColumn): (object: KubeObject, now: number) => Cell {
  const path = compileJsonPath(jsonPath)
  return (object, now) => {
    const value = firstResult(path, object)
    return value === undefined ? null : cellOf(type, value, now)
  }
}

function firstResult(path: (root: Json) => readonly Json[], object: KubeObject): Json | undefined {
  try {
    return path(object)[0]
  } catch (error) {
    if (error instanceof EvaluationError) return undefined
    throw error
  }
}

function cellOf(type: PrinterColumn['type'], value: Json, now: number): Cell {
  switch (type) {
    case 'string':
      return textOf(value)
    case 'integer':
      return isNumber(value) ? integerOf(value) : null
    case 'number':
      return isNumber(value) ? toNumber(value) : null
    case 'boolean':
      return typeof value === 'boolean' ? value : null
    case 'date':
      return typeof value === 'string' ? formatAge(value, now) : null
  }
}

// upstream: jsonpath.PrintResults, which prints scalars as fmt.Print does
function textOf(value: Json): string {
  if (value === null) return '<no value>'
  if (Array.isArray(value) || isObject(value)) return renderJson(value)
  if (isNumber(value) && !isInteger(value)) return formatGoFloat(toNumber(value))
  return String(value)
}

const MIN_INT64 = -9223372036854775808n

function integerOf(value: number | bigint | Float): Cell {
  if (isInteger(value)) return value
  const float = toNumber(value)
  // out of range, Go's conversion gives the smallest int64
  const whole = Number.isFinite(float) ? BigInt(Math.trunc(float)) : MIN_INT64
  const int64 = BigInt.asIntN(64, whole) === whole ? whole : MIN_INT64
  return Number.isSafeInteger(Number(int64)) ? Number(int64) : int64
}

/** The column definitions of a Table. */
export function columnDefinitions(columns: Columns): readonly TableColumnDefinition[] {
  return columns.definitions
}

/** The cells of one object, in the order of the columns. `now`: milliseconds since the epoch, for ages. */
export function tableRow(object: KubeObject, columns: Columns, now: number): Cell[] {
  return columns.cells.map((cell) => cell(object, now))
}
