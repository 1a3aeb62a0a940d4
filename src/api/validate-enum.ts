/**
 * Membership in an enum: values are compared after Go's conversion to the member's type.
 * upstream: kube-openapi/pkg/validation/validate/validator.go basicCommonValidator
 */
import { deepEqual, isInteger, isNumber, toNumber, type Json } from './object.ts'
import { goQuote, renderJson } from './status.ts'

/** Whether a value is one of the members. Null never is. */
export function inEnum(members: readonly Json[], value: Json): boolean {
  return members.some((member) => {
    if (member === null || value === null) return false
    // A float loses its fraction where the member is an integer.
    if (isNumber(member)) return isNumber(value) && (isInteger(member) ? Math.trunc(toNumber(value)) : toNumber(value)) === toNumber(member)
    // Go converts an integer to the string of that one character.
    if (typeof member === 'string' && isInteger(value)) return member === characterOf(Number(value))
    return deepEqual(member, value)
  })
}

function characterOf(code: number): string {
  return code >= 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff) ? String.fromCodePoint(code) : '\ufffd'
}

/** The detail of the error: `supported values: "a", "b"`; members that are no strings as JSON. */
export function enumErrorDetail(members: readonly Json[]): string {
  return `supported values: ${members.map((member) => goQuote(typeof member === 'string' ? member : renderJson(member))).join(', ')}`
}
