/** Patches as values: JSON patch, JSON merge patch and, for core kinds, strategic merge patch. Nothing here mutates its input. */
export { applyJsonPatch, decodeJsonPatch, type DecodedJsonPatch } from './json-patch.ts'
export { applyMergePatch, decodeMergePatch, type DecodedMergePatch } from './merge-patch.ts'
export { applyStrategicMerge } from './strategic-merge.ts'
