/** Texts of the library's evaluator, as cel-go has them for the same. upstream: cel-go common/types/err.go, interpreter/interpretable.go */

// Go's names of what cannot be iterated.
const GO_TYPES: Record<string, string> = {
  int: 'types.Int', uint: 'types.Uint', double: 'types.Double', bool: 'types.Bool', string: 'types.String', bytes: 'types.Bytes', null_type: 'types.Null', type: '*types.Type',
  'google.protobuf.Timestamp': 'types.Timestamp', 'google.protobuf.Duration': 'types.Duration', optional_type: '*types.Optional',
}

const TEXTS: readonly (readonly [RegExp, (detail: string) => string])[] = [
  [/^field not found: (.*)$/s, (name) => `no such key: ${name}`],
  [/^type mismatch: iterable vs (.*)$/, (kind) => `got '${GO_TYPES[kind] ?? kind}', expected iterable type`],
  [/^(?:type mismatch: expected bool|found no matching overload for _\?_:_)/, () => 'no such overload'],
]

/** The text of an error of an evaluation. */
export function errorText(message: string): string {
  for (const [pattern, text] of TEXTS) {
    const match = pattern.exec(message)
    if (match !== null) return text(match[1] ?? '')
  }
  return message
}
