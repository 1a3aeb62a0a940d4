/**
 * Printer columns, selectable fields and subresources of a version.
 * upstream: apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go ValidateCustomResourceColumnDefinition,
 * ValidateCustomResourceSelectableFields, ValidateCustomResourceDefinitionSubresources
 */
import type { ColumnProps, SchemaProps, SelectableProps, SubresourcesProps } from './definition-props.ts'
import { resolveFieldPath } from './field-path.ts'
import { fieldError, type FieldError } from './status.ts'

const required = (field: string, detail = ''): FieldError => fieldError('FieldValueRequired', field, '', detail)
const invalid = (field: string, value: unknown, detail: string): FieldError => fieldError('FieldValueInvalid', field, value, detail)

const COLUMN_TYPES = ['boolean', 'date', 'integer', 'number', 'string']
const COLUMN_FORMATS = ['byte', 'date', 'date-time', 'double', 'float', 'int32', 'int64', 'password']

/** Errors of a printer column. */
export function columnErrors({ name = '', type = '', format = '', jsonPath = '' }: ColumnProps, path: string): FieldError[] {
  const errors: FieldError[] = []
  if (name === '') errors.push(required(`${path}.name`))
  const types = `must be one of ${COLUMN_TYPES.join(',')}`
  if (type === '') errors.push(required(`${path}.type`, types))
  else if (!COLUMN_TYPES.includes(type)) errors.push(invalid(`${path}.type`, type, types))
  if (format !== '' && !COLUMN_FORMATS.includes(format)) errors.push(invalid(`${path}.format`, format, `must be one of ${COLUMN_FORMATS.join(',')}`))
  if (jsonPath === '') errors.push(required(`${path}.JSONPath`))
  else errors.push(...simplePathErrors(jsonPath, `${path}.JSONPath`))
  return errors
}

/** upstream: validateSimpleJSONPath, which lets through all that begins with a dot */
function simplePathErrors(text: string, path: string): FieldError[] {
  return text.startsWith('.') ? [] : [invalid(path, text, 'must be a simple json path starting with .')]
}

/** Errors of the subresources. */
export function subresourceErrors(subresources: SubresourcesProps | undefined, path: string): FieldError[] {
  const scale = subresources?.scale
  if (scale === undefined) return []
  const { specReplicasPath = '', statusReplicasPath = '', labelSelectorPath = '' } = scale
  return [
    ...scalePathErrors(specReplicasPath, `${path}.scale.specReplicasPath`, ['.spec.'], 'should be a json path under .spec'),
    ...scalePathErrors(statusReplicasPath, `${path}.scale.statusReplicasPath`, ['.status.'], 'should be a json path under .status'),
    ...(labelSelectorPath === ''
      ? []
      : scalePathErrors(labelSelectorPath, `${path}.scale.labelSelectorPath`, ['.spec.', '.status.'], 'should be a json path under either .spec or .status')),
  ]
}

function scalePathErrors(text: string, path: string, leads: readonly string[], detail: string): FieldError[] {
  if (text === '') return [required(path)]
  const errors = simplePathErrors(text, path)
  return errors.length > 0 || leads.some((lead) => text.startsWith(lead)) ? errors : [invalid(path, text, detail)]
}

const MAX_SELECTABLE = 8
const SELECTABLE_TYPES = new Set(['string', 'boolean', 'integer'])

/** Errors of the selectable fields of a schema. */
export function selectableErrors(fields: readonly SelectableProps[], schema: SchemaProps, path: string): FieldError[] {
  const errors: FieldError[] = []
  const unique = new Set<string>()
  for (const [i, { jsonPath = '' }] of fields.entries()) {
    const at = `${path}[${i}].jsonPath`
    if (jsonPath === '') {
      errors.push(required(at))
      continue
    }
    try {
      const found = resolveFieldPath(jsonPath, schema, { arrays: false })
      if (found.root === 'metadata') errors.push(invalid(at, jsonPath, 'must not point to fields in metadata'))
      if (!SELECTABLE_TYPES.has(found.schema?.type ?? '')) {
        errors.push(invalid(at, jsonPath, 'must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.'))
      }
      if (unique.has(found.text)) errors.push(fieldError('FieldValueDuplicate', at, jsonPath, ''))
      unique.add(found.text)
    } catch (error) {
      errors.push(invalid(at, jsonPath, `is an invalid path: ${(error as Error).message}`))
    }
  }
  if (unique.size > MAX_SELECTABLE) errors.push(fieldError('FieldValueTooMany', path, unique.size, `must have at most ${MAX_SELECTABLE} items`))
  return errors
}
