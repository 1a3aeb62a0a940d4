/**
 * The verbs of the scale subresource.
 * upstream: apiextensions-apiserver/pkg/apiserver/customresource_handler.go: serveScale, apiserver/pkg/endpoints/handlers/{get,update,patch}.go
 */
import { decodeJson, encodeInOrder, findingsAsWarnings, type YamlDecoder } from '../api/codec.ts'
import { duplicateFindings, notRegistered } from '../api/decode-object.ts'
import { decodeText } from '../api/decode-text.ts'
import { dedupOwnerReferences } from '../api/metadata.ts'
import { isObject, parseApiVersion, type Json } from '../api/object.ts'
import { openKubeProtobuf } from '../api/protobuf.ts'
import { SCALE_KIND, type Scale } from '../api/scale.ts'
import { decodeScale, readScale, SCALE_MESSAGE, type DecodedScale } from '../api/scale-decode.ts'
import { badRequest, invalidPatch, methodNotSupported, sortKeys } from '../api/status.ts'
import { applyScale, getScale, updateScale } from '../registry/scale.ts'
import { checkName, settleNamespace } from '../registry/write.ts'
import { bodyMediaType, readBody, yamlDecoder } from './body.ts'
import { objectNamespace, type RequestContext } from './context.ts'
import { negotiate, PROTOBUF, type Negotiated } from './negotiate.ts'
import { parseApplyOptions, parseGetOptions, parseModifyOptions, type FieldValidation } from './options.ts'
import { APPLY_PATCH, createConfiguration, createPatch, patchMediaType, type Patched } from './patch-body.ts'
import { respondValue } from './respond.ts'
import { transformObject } from './transform.ts'
import { requireName, writeOptions } from './write-options.ts'

/** Serves get, update and patch of a Scale. Throws StatusError. */
export async function serveScale(context: RequestContext): Promise<void> {
  switch (context.info.verb) {
    case 'get':
      return await serveGet(context)
    case 'update':
      return await serveUpdate(context)
    case 'patch':
      return await servePatch(context)
    default:
      throw methodNotSupported(context.store.resource, context.info.verb)
  }
}

function respondScale(context: RequestContext, negotiated: Negotiated, scale: Scale): void {
  respondValue(context, negotiated, negotiated.as === undefined ? scale : transformObject(context, negotiated, scale), 200)
}

async function serveGet(context: RequestContext): Promise<void> {
  const { req, info, store, version } = context
  const name = requireName(context)
  const negotiated = negotiate(req.headers.accept, req)
  const { resourceVersion } = parseGetOptions(info.query)
  respondScale(context, negotiated, await getScale(store, version.name, objectNamespace(context), name, resourceVersion))
}

async function serveUpdate(context: RequestContext): Promise<void> {
  const { req, info, store } = context
  const name = requireName(context)
  const negotiated = negotiate(req.headers.accept, req)
  const bytes = await readBody(req)
  const options = parseModifyOptions(info.query, 'UpdateOptions')
  const scale = await receiveBody(context, bytes, bodyMediaType(req.headers['content-type']), options.fieldValidation)
  checkName(settleNamespace(scale, objectNamespace(context)), name)
  const { object, warning } = dedupOwnerReferences(scale)
  if (warning) context.warnings.add(warning)
  respondScale(context, negotiated, await updateScale(store, () => object as Scale, { ...writeOptions(context, options), name, kind: 'put' }))
}

async function servePatch(context: RequestContext): Promise<void> {
  const { req, info, store } = context
  const mediaType = patchMediaType(req.headers['content-type'], store)
  const name = requireName(context)
  const negotiated = negotiate(req.headers.accept, req)
  const bytes = await readBody(req)
  if (mediaType === APPLY_PATCH) {
    const options = parseApplyOptions(info.query)
    const configuration = createConfiguration(context, await yamlDecoder(context, bytes, mediaType), bytes, options.fieldValidation)
    respondScale(context, negotiated, await applyScale(store, configuration, { ...writeOptions(context, options), name, force: options.force }))
    return
  }
  const options = parseModifyOptions(info.query, 'PatchOptions')
  const patch = createPatch(context, mediaType, bytes, options.fieldValidation, receivePatched)
  respondScale(context, negotiated, await updateScale(store, patch, { ...writeOptions(context, options), name, kind: 'patch' }))
}

// What is wrong with a body stays unsaid, as upstream, whose error is about its error's text.
const UNDECODABLE = 'no kind is registered for the type v1.Scale in scheme "pkg/runtime/scheme.go:111"'

async function receiveBody(context: RequestContext, bytes: Uint8Array, mediaType: string, validation: FieldValidation): Promise<Scale> {
  const yaml = await yamlDecoder(context, bytes, mediaType)
  let decoded: DecodedScale
  try {
    decoded = mediaType === PROTOBUF ? decodeProtobuf(bytes) : decodeBody(bytes, mediaType === 'application/yaml' ? yaml : undefined)
  } catch {
    throw badRequest(UNDECODABLE)
  }
  if (validation === 'Strict' && decoded.findings.length > 0) throw badRequest(UNDECODABLE)
  if (validation === 'Warn') for (const text of findingsAsWarnings(decoded.findings)) context.warnings.add(text)
  return decoded.scale
}

function decodeBody(bytes: Uint8Array, yaml: YamlDecoder | undefined): DecodedScale {
  const fromYaml = yaml !== undefined
  const { value, duplicates } = (yaml ?? decodeJson)(decodeText(bytes))
  const { scale, findings } = decodeScale(value, { fromYaml })
  return { scale, findings: [...duplicateFindings(duplicates, fromYaml ? 'application/yaml' : 'application/json'), ...findings] }
}

function decodeProtobuf(bytes: Uint8Array): DecodedScale {
  const { apiVersion, kind, decode } = openKubeProtobuf(bytes)
  const actual = { ...SCALE_KIND, ...(apiVersion === '' ? {} : parseApiVersion(apiVersion)), ...(kind === '' ? {} : { kind }) }
  if (actual.kind !== SCALE_KIND.kind || actual.group !== SCALE_KIND.group || actual.version !== SCALE_KIND.version) throw notRegistered(actual)
  return { scale: readScale(decode(SCALE_MESSAGE)), findings: [] }
}

function receivePatched(context: RequestContext, { value: patched }: Patched, patchFindings: readonly string[], validation: FieldValidation): Scale {
  const refuse = (detail: string) => invalidPatch(showPatched(patched), detail)
  const { scale, findings } = decodeOr(patched, refuse)
  const all = [...patchFindings, ...findings]
  if (validation === 'Strict' && all.length > 0) throw refuse(`strict decoding error: ${all.join(', ')}`)
  if (validation === 'Warn') for (const text of findingsAsWarnings(all)) context.warnings.add(text)
  checkName(settleNamespace(scale, objectNamespace(context)), context.info.name)
  return scale
}

function decodeOr(patched: Json, refuse: (detail: string) => Error): DecodedScale {
  try {
    return decodeScale(patched, { fromYaml: false })
  } catch (error) {
    throw refuse(error instanceof Error ? error.message : String(error))
  }
}

// A patch makes the object a map, whose keys Go sorts; what it does not touch stays as the struct was.
function showPatched(patched: Json): string {
  if (!isObject(patched)) return encodeInOrder(patched)
  return encodeInOrder(Object.fromEntries(sortKeys(Object.keys(patched)).map((key) => [key, patched[key]])))
}
