/** Bodies of reviews: JSON, or protobuf, which kubectl sends. upstream: k8s.io/api/authorization/v1/generated.proto, authentication/v1/generated.proto */
import type { Request } from 'express'
import { DecodeError, decodeJson } from '../api/codec.ts'
import { isObject, type Json, type JsonObject } from '../api/object.ts'
import { openKubeProtobuf, type Message } from '../api/protobuf.ts'
import { badRequest, unsupportedMediaType } from '../api/status.ts'
import { bodyMediaType, readBody } from './body.ts'

const texts = (...names: string[]): Message => Object.fromEntries(names.map((name, i) => [i + 1, { name, type: 'string' as const }]))

const ACCESS_REVIEW: Message = {
  2: {
    name: 'spec',
    type: {
      1: { name: 'resourceAttributes', type: texts('namespace', 'verb', 'group', 'version', 'resource', 'subresource', 'name') },
      2: { name: 'nonResourceAttributes', type: texts('path', 'verb') },
    },
  },
}

/** The review in a body. Throws 400 for anything else, 415 for another media type. */
export async function readReview(req: Request, kind: string): Promise<JsonObject> {
  const mediaType = bodyMediaType(req.headers['content-type'])
  if (mediaType === 'application/yaml') throw unsupportedMediaType(['application/json', 'application/vnd.kubernetes.protobuf'])
  const bytes = await readBody(req)
  const value = mediaType === 'application/json' ? readJson(bytes) : readProtobuf(bytes)
  if (isObject(value) && value.kind === kind) return value
  throw badRequest(`the body is no ${kind}`)
}

function readJson(bytes: Buffer): Json {
  try {
    return decodeJson(bytes.toString('utf8')).value
  } catch (error) {
    throw error instanceof DecodeError ? badRequest(error.message) : error
  }
}

function readProtobuf(bytes: Buffer): JsonObject {
  try {
    const { kind, decode } = openKubeProtobuf(bytes)
    return { ...decode(ACCESS_REVIEW), kind }
  } catch (error) {
    throw badRequest(error instanceof Error ? error.message : String(error))
  }
}
