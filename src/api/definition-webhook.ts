/**
 * spec.conversion of a definition.
 * upstream: apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go validateCustomResourceConversion, apiserver/pkg/util/webhook/validation.go
 */
import type { ConversionProps } from './definition-props.ts'
import { dns1035Errors, subdomainErrors } from './names.ts'
import { parseGoUrl } from './go-url.ts'
import { fieldError, type FieldError } from './status.ts'

const required = (field: string, detail: string): FieldError => fieldError('FieldValueRequired', field, '', detail)
const invalid = (field: string, value: unknown, detail: string): FieldError => fieldError('FieldValueInvalid', field, value, detail)

/** Errors of the conversion. Paths are those of upstream's internal form. */
export function conversionErrors({ strategy = '', webhook }: ConversionProps, path: string): FieldError[] {
  if (strategy === '') return [required(`${path}.strategy`, ''), ...withoutWebhook(webhook, path)]
  if (strategy === 'Webhook') return [...clientErrors(webhook?.clientConfig, `${path}.webhookClientConfig`), ...reviewErrors(webhook?.conversionReviewVersions ?? [], `${path}.conversionReviewVersions`)]
  const known = strategy === 'None' ? [] : [fieldError('FieldValueNotSupported', `${path}.strategy`, strategy, 'supported values: "None", "Webhook"')]
  return [...known, ...withoutWebhook(webhook, path)]
}

function withoutWebhook(webhook: ConversionProps['webhook'], path: string): FieldError[] {
  const detail = 'should not be set when strategy is not set to Webhook'
  const errors: FieldError[] = []
  if (webhook?.clientConfig !== undefined) errors.push(fieldError('FieldValueForbidden', `${path}.webhookClientConfig`, '', detail))
  if ((webhook?.conversionReviewVersions ?? []).length > 0) errors.push(fieldError('FieldValueForbidden', `${path}.conversionReviewVersions`, '', detail))
  return errors
}

type ClientConfig = NonNullable<NonNullable<ConversionProps['webhook']>['clientConfig']>

// The CA bundle is not looked at on create, as upstream.
function clientErrors(config: ClientConfig | undefined, path: string): FieldError[] {
  if (config === undefined) return [required(path, 'required when strategy is set to Webhook')]
  if ((config.url === undefined) === (config.service === undefined)) return [required(path, 'exactly one of url or service is required')]
  return config.url === undefined ? serviceErrors(config.service ?? {}, `${path}.service`) : urlErrors(config.url, `${path}.url`)
}

const FORM = '; desired format: https://host[/path]'

function urlErrors(text: string, path: string): FieldError[] {
  const url = parseGoUrl(text)
  if (typeof url === 'string') return [required(path, `url must be a valid URL: ${url}${FORM}`)]
  const errors: FieldError[] = []
  if (url.scheme !== 'https') errors.push(invalid(path, url.scheme, `'https' is the only allowed URL scheme${FORM}`))
  if (url.host === '') errors.push(invalid(path, '', `host must be specified${FORM}`))
  if (url.user !== undefined) errors.push(invalid(path, url.user, 'user information is not permitted in the URL'))
  if (url.fragment !== '') errors.push(invalid(path, url.fragment, 'fragments are not permitted in the URL'))
  if (url.query !== '') errors.push(invalid(path, url.query, 'query parameters are not permitted in the URL'))
  return errors
}

// upstream hands name and namespace over in the wrong order, so that each is reported as the other.
function serviceErrors(service: NonNullable<ClientConfig['service']>, path: string): FieldError[] {
  const errors: FieldError[] = []
  if (!service.namespace) errors.push(required(`${path}.name`, ''))
  if (!service.name) errors.push(required(`${path}.namespace`, ''))
  const port = service.port ?? 443
  if (port < 1 || port > 65_535) errors.push(invalid(`${path}.port`, port, 'port is not valid: must be between 1 and 65535, inclusive'))
  return [...errors, ...(service.path === undefined ? [] : servicePathErrors(service.path, `${path}.path`))]
}

function servicePathErrors(text: string, path: string): FieldError[] {
  if (text === '/' || text === '') return []
  if (text === '//') return [invalid(path, text, 'segment[0] may not be empty')]
  const errors = text.startsWith('/') ? [] : [invalid(path, text, "must start with a '/'")]
  const segments = text.slice(1).replace(/\/$/, '').split('/')
  for (const [i, segment] of segments.entries()) {
    if (segment === '') errors.push(invalid(path, text, `segment[${i}] may not be empty`))
    else errors.push(...subdomainErrors(segment).map((detail) => invalid(path, text, `segment[${i}]: ${detail}`)))
  }
  return errors
}

const REVIEWS = ['v1', 'v1beta1']

function reviewErrors(versions: readonly string[], path: string): FieldError[] {
  if (versions.length === 0) return [required(path, '')]
  const errors: FieldError[] = []
  const seen = new Set<string>()
  for (const [i, version] of versions.entries()) {
    if (seen.has(version)) errors.push(invalid(`${path}[${i}]`, version, 'duplicate version'))
    else errors.push(...dns1035Errors(version).map((detail) => invalid(`${path}[${i}]`, version, detail)))
    seen.add(version)
  }
  if (!versions.some((version) => REVIEWS.includes(version))) errors.push(invalid(path, versions, `must include at least one of ${REVIEWS.join(', ')}`))
  return errors
}
