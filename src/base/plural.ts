/** A number with its noun, as people read it: `1 object`, `3,000 objects`. For nouns whose plural ends in s. */
export function plural(count: number, noun: string): string {
  return `${formatted.format(count)} ${noun}${count === 1 ? '' : 's'}`
}

const formatted = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 })
