import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseQuantity } from './quantity.ts'

test('quantities', () => {
  const cases: [string, bigint][] = [
    ['1', 1_000_000_000n], ['0', 0n], ['500m', 500_000_000n], ['1.5', 1_500_000_000n], ['.5', 500_000_000n], ['1.', 1_000_000_000n], ['-2k', -2_000_000_000_000n],
    ['+1Ki', 1_024_000_000_000n], ['1.5Gi', 1_610_612_736_000_000_000n], ['1e3', 1_000_000_000_000n], ['1E-3', 1_000_000n], ['1E', 10n ** 27n], ['2n', 2n], ['3u', 3000n],
    ['0.1n', 1n], ['-0.1n', -1n],
  ]
  for (const [text, nanos] of cases) assert.equal(parseQuantity(text)?.nanos, nanos, text)
  for (const text of ['', 'x', '1 ', '1x', '1ki', '1.2.3', '--1', 'Gi', '.', '1e', '1e+', '1e999', '1'.repeat(200)]) assert.equal(parseQuantity(text), undefined, text)
})
