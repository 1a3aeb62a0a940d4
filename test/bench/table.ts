/** The bench's table: ours beside theirs and beside what must be reached. */

/** A line. */
export interface Row {
  readonly work: string
  readonly ours: number
  readonly unit: string
  /** What a kube-apiserver takes, in the same unit. */
  readonly theirs?: number
  /** Not above this. */
  readonly target?: number
  readonly note?: string
}

/** Prints rows in columns; a target that is missed is marked. */
export function printTable(rows: readonly Row[], out: { write(text: string): unknown }, title: string): void {
  const head = ['work', 'ours', 'kube-apiserver', 'target', '', 'note']
  const cells = rows.map(({ work, ours, unit, theirs, target, note = '' }) => [
    work,
    `${format(ours)} ${unit}`,
    theirs === undefined ? '' : `${format(theirs)} ${unit}`,
    target === undefined ? '' : `${format(target)} ${unit}`,
    target === undefined || Number.isNaN(ours) ? '' : ours <= target ? 'met' : 'MISSED',
    note,
  ])
  const widths = head.map((text, column) => Math.max(text.length, ...cells.map((row) => (row[column] as string).length)))
  const line = (row: readonly string[]) => `${row.map((text, column) => (column === 0 || column > 3 ? text.padEnd(widths[column] as number) : text.padStart(widths[column] as number))).join('  ').trimEnd()}\n`
  out.write(`\n${title}\n\n${line(head)}${line(widths.map((width) => '-'.repeat(width)))}${cells.map(line).join('')}`)
}

function format(value: number): string {
  if (Number.isNaN(value)) return 'not measured'
  if (value >= 100) return value.toFixed(0)
  return value >= 10 ? value.toFixed(1) : value >= 1 ? value.toFixed(2) : value.toFixed(3)
}
