/**
 * How much an evaluation may still do. The library has no limit of its own, so that all that can grow is charged where it is done: nodes of a
 * loop's body for each turn, characters that are made or looked at, items, comparisons.
 * A unit is a tenth of a microsecond at most on a slow core. Where upstream's cost model (cel-go interpreter/runtimecost.go) has a factor for a size,
 * ours is the same or greater, so that both have a budget of 1,000,000 for one rule; nodes cost more here than there.
 */

/** What one node of an expression costs each time, in units: a name, a constant or a field; an operator of the evaluator's own; a function. */
export const NODE = 1
export const OPERATOR = 1
export const CALL = 3
/** What arithmetic of 64 bits costs besides. */
export const INTEGER = 3
/** What a character costs that is copied or compared. upstream: common.StringTraversalCostFactor */
export const CHARACTER = 0.1
/** What one item of a list costs that is visited or copied. */
export const ITEM = 1

/** What it costs to make an object: an opaque value, an error. */
export const OBJECT = 16

/** What it costs to read or write a value of several parts, such as a time, an address or a quantity, besides its characters. */
export const PARTS = 30

/** What stops an evaluation. */
export const LIMIT_TEXT = 'operation cancelled: actual cost limit exceeded'

/** The units that the running evaluation has left; evaluations are synchronous, so that there is only one. Without one nothing is counted. */
export const meter = {
  left: Infinity,
  /** Takes `units`; throws when there are not that many left. */
  charge(units: number): void {
    meter.left -= units
    // NaN would pass every limit
    if (!(meter.left >= 0)) throw new Error(LIMIT_TEXT)
  },
}
