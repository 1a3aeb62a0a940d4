/** Label and field selectors: what the query parameters `labelSelector` and `fieldSelector` say, as values. */
export { parseLabelSelector, matchesLabels, type LabelSelector, type LabelRequirement } from './label-selector.ts'
export { parseFieldSelector, matchesFields, requiredFields, exactName, type FieldSelector, type FieldRequirement } from './field-selector.ts'
