/**
 * ConversionReviews of apiextensions.k8s.io/v1: all objects are converted, or none.
 * upstream: apiextensions-apiserver/pkg/apiserver/conversion/webhook_converter.go: createConversionReviewObjects, getConvertedObjectsFromResponse
 */
import { decodeJson, DecodeError, encodeJson } from '../api/codec.ts'
import { getKey, isObject, type Json, type JsonObject } from '../api/object.ts'
import type { ConvertObject } from './convert-object.ts'
import { ConversionError } from './remainder.ts'

const API_VERSION = 'apiextensions.k8s.io/v1'
const KIND = 'ConversionReview'

/** A body that is no review, so that there is nobody to answer with one. */
export class BadReview extends Error {}

/** The answer to a review. */
export interface ReviewAnswer {
  readonly body: string
  /** Objects converted; undefined: the review has failed, with `failure` as its message. */
  readonly converted?: number
  readonly failure?: string
}

/** Answers a review, given as JSON text. Throws BadReview. */
export function answerReview(text: string, convert: ConvertObject): ReviewAnswer {
  const { uid, desired, objects } = readRequest(text)
  try {
    const convertedObjects = objects.map((object) => convert(object, desired))
    return { body: encodeReview({ uid, result: { status: 'Success' }, convertedObjects }), converted: convertedObjects.length }
  } catch (error) {
    if (!(error instanceof ConversionError)) throw error
    return { body: encodeReview({ uid, result: { status: 'Failure', message: error.message, reason: 'Invalid' } }), failure: error.message }
  }
}

function encodeReview(response: JsonObject): string {
  return encodeJson({ apiVersion: API_VERSION, kind: KIND, response })
}

function readRequest(text: string): { readonly uid: string; readonly desired: string; readonly objects: readonly Json[] } {
  const review = parse(text)
  if (!isObject(review) || getKey(review, 'apiVersion') !== API_VERSION || getKey(review, 'kind') !== KIND) {
    throw new BadReview(`the body is no ${KIND} of ${API_VERSION}`)
  }
  const request = getKey(review, 'request')
  if (!isObject(request)) throw new BadReview('the review has no request')
  const [uid, desired, objects] = [getKey(request, 'uid'), getKey(request, 'desiredAPIVersion'), getKey(request, 'objects')]
  if (typeof uid !== 'string' || uid === '') throw new BadReview('request.uid: is required')
  if (typeof desired !== 'string' || desired === '') throw new BadReview('request.desiredAPIVersion: is required')
  if (!Array.isArray(objects)) throw new BadReview('request.objects: is no list')
  return { uid, desired, objects }
}

function parse(text: string): unknown {
  try {
    return decodeJson(text).value
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    throw new BadReview(`the body is no JSON: ${error.message}`, { cause: error })
  }
}
