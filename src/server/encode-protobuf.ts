/** Answers in protobuf: metadata and Statuses, alone or as the events of a watch. */
import { encodeKubeProtobuf, encodeWatchFrame } from '../api/protobuf-encode.ts'
import { PARTIAL_OBJECT_METADATA, PARTIAL_OBJECT_METADATA_LIST, STATUS } from '../api/protobuf-meta.ts'
import type { JsonObject } from '../api/object.ts'
import type { Message } from '../api/protobuf.ts'

const MESSAGES: ReadonlyMap<unknown, Message> = new Map([
  ['PartialObjectMetadata', PARTIAL_OBJECT_METADATA],
  ['PartialObjectMetadataList', PARTIAL_OBJECT_METADATA_LIST],
  ['Status', STATUS],
])

/** An answer by its kind. Throws Error for a kind that has no message, which negotiation does not let come here. */
export function encodeAnswer(value: unknown): Buffer {
  const object = value as JsonObject
  const message = MESSAGES.get(object.kind)
  if (message === undefined) throw new Error(`no protobuf for ${String(object.kind)}`)
  return encodeKubeProtobuf(object, message)
}

/** An event of a watch. */
export function encodeEvent(type: string, object: unknown): Buffer {
  return encodeWatchFrame(type, encodeAnswer(object))
}
