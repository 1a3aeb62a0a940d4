import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DEFAULT_NORMALIZERS, normalize } from './normalize.ts'
import type { Normalizer } from './normalize.ts'

// What is masked, and what looks like it and must stay.
const MASKED: [Normalizer, string, string][] = [
  ['StripANSI', '\u001b[31mred\u001b[0m', 'red'],
  ['StripANSI', '\u001b]8;;http://x\u0007link\u001b]8;;\u0007', 'link'],
  ['CarriageReturns', '10%\r50%\r100%\ndone\r\n', '100%\ndone\n'],
  ['CarriageReturns', 'abc\b\bd', 'ad'],
  ['TrailingWhitespace', 'a  \nb\t\n\n', 'a\nb'],
  ['Timestamps', 'at 2024-03-01T12:30:45.123Z.', 'at <timestamp>.'],
  ['Timestamps', '2024-03-01 12:30:45,123 INFO', '<timestamp> INFO'],
  ['Timestamps', 'Mon Jan  2 15:04:05 2006', '<timestamp>'],
  ['Timestamps', 'Mon, 02 Jan 2006 15:04:05 GMT', '<timestamp>'],
  ['MemoryAddresses', '<object object at 0x7f3a1c2b4d50>', '<object object at <address>>'],
  ['MemoryAddresses', '/tmp/ipykernel_4242/1098521482.py:2: UserWarning: old', '/tmp/ipykernel_<pid>/1098521482.py:2: UserWarning: old'],
  ['MemoryAddresses', 'File C:\\Temp\\ipykernel_7\\12.py', 'File C:\\Temp\\ipykernel_<pid>\\12.py'],
  ['UUIDs', 'run 123e4567-e89b-12d3-a456-426614174000 done', 'run <uuid> done'],
  ['ProgressBars', 'start\n 45%|████▌     | 45/100 [00:01<00:01, 44.50it/s]\nend', 'start\nend'],
  ['ProgressBars', 'Training: 100%|##########| 3/3 [00:00<00:00,  9.50it/s, loss=0.1]', ''],
  ['ProgressBars', '45it [00:01, 44.50it/s]', ''],
  ['ProgressBars', '10/10 [==============================] - 3s 2ms/step - loss: 0.5', '<progress> - loss: 0.5'],
  ['ProgressBars', '10/10 ━━━━━━━━━━━━━━━━━━━━ 0s 2ms/step - loss: 0.5', '<progress> - loss: 0.5'],
  ['Durations', 'took 1.23 s and 45ms', 'took <duration> and <duration>'],
  ['Durations', 'elapsed 0:01:23.456', 'elapsed <duration>'],
  ['MatplotlibFigureSize', '<Figure size 640x480 with 1 Axes>', '<Figure size <size> with 1 Axes>'],
  ['TemporaryPaths', 'File /tmp/ipykernel_12/345.py', 'File <temporary>/345.py'],
  ['TemporaryPaths', '/var/folders/ab/c+d/T/tmpx/y', '<temporary>/y'],
  ['CollapseWhitespace', 'a  b\t\tc\n\n\nd', 'a b c\nd'],
]

const KEPT: [Normalizer, string][] = [
  ['Timestamps', '1700000000'],
  ['Timestamps', '2024-03-01'],
  ['Timestamps', '12:30:45'],
  ['Timestamps', '2024-13-01 12:30:45'],
  ['Timestamps', '1.5s'],
  ['MemoryAddresses', '0xdeadbeef'],
  ['MemoryAddresses', 'at 0xff'],
  ['MemoryAddresses', '/tmp/ipykernel_4242/data.csv'],
  ['MemoryAddresses', 'ipykernel_4242/1.py'],
  ['MemoryAddresses', '/tmp/job_4242/1.py'],
  ['UUIDs', '123e4567-e89b-12d3-a456-4266141740001'],
  ['ProgressBars', 'accuracy 45% | 45/100'],
  ['ProgressBars', 'loss: 0.5'],
  ['ProgressBars', '3 items [a, b]'],
  ['Durations', '1.5 samples'],
  ['Durations', '5 meters'],
  ['MatplotlibFigureSize', 'size 640x480'],
  ['TemporaryPaths', '/home/me/tmp/x'],
]

for (const [name, text, expected] of MASKED) {
  test(`${name} masks ${JSON.stringify(text)}`, () => assert.equal(normalize(text, new Set([name])), expected))
}

for (const [name, text] of KEPT) {
  test(`${name} keeps ${JSON.stringify(text)}`, () => assert.equal(normalize(text, new Set([name])), text))
}

test('the order of the list does not matter', () => {
  const text = '\u001b[32m2024-03-01 12:30:45\u001b[0m  \n 45%|####  | 4/9 [00:01<00:01, 4it/s]\r100%|##| 9/9 [00:01<00:00, 4it/s]\n'
  assert.equal(normalize(text, new Set(DEFAULT_NORMALIZERS)), '<timestamp>')
  assert.equal(normalize(text, new Set(DEFAULT_NORMALIZERS.toReversed())), '<timestamp>')
})

const ALL: readonly Normalizer[] = [...DEFAULT_NORMALIZERS, 'Durations', 'MatplotlibFigureSize', 'TemporaryPaths', 'CollapseWhitespace']
const UNITS = [
  ' ', '\t', '\r', '\b', 'a\b', '\n', '\u001b', '\u001b[', '\u001b]', '\u001b[1;', '1', '1.', '1:', '00:', 'at 0x', '0x0', 'a-', '0-',
  '12345678-', '2024-', '2024-01-01 ', 'Mon ', 'Mon Jan ', '%|', '1%|', '1%|#', '|', '[', '━', '1/1 [', '1/1 [=', '/tmp/', '/tmp/a', '/private',
  '/ipykernel_', '/ipykernel_1', '1/1', '<Figure size ', '1 s', '1.1', '1 ', 'C:\\Users\\', '1it [', ': ', '█',
]

test('a megabyte of adversarial text in one line is normalized in linear time', () => {
  const normalizers = new Set(ALL)
  let slowest = { unit: '', milliseconds: 0 }
  for (const unit of UNITS) {
    const started = performance.now()
    normalize(`${unit.repeat(Math.ceil(1_000_000 / unit.length))}x`, normalizers)
    const milliseconds = performance.now() - started
    if (milliseconds > slowest.milliseconds) slowest = { unit, milliseconds }
  }
  assert.ok(slowest.milliseconds < 1500, JSON.stringify(slowest))
})
