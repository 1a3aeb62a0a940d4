/**
 * How deep the walks of this folder go. Upstream has no limit of its own; what is nested deeper than any schema is refused by apply
 * and not tracked by updates, so that no request can exhaust the stack.
 */
export const MAX_DEPTH = 512
