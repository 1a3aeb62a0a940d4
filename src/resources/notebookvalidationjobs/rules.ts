/**
 * The CEL rules that the versions share. Each must be one that a real kube-apiserver accepts: every string, list and
 * map that a rule visits is bounded in the schemas, since the cost of a rule is estimated from the bounds.
 */
import type { ValidationRule } from '../../api/schema.ts'

/** Of a git URL: a known scheme and a host, no credentials, nothing that a command line or a log would misread. */
export const urlRules = [
  {
    rule: "self.matches('^(https?://[^/-]|ssh://(git@)?[^/@-][^/@]*(/|$)|git@[A-Za-z0-9][A-Za-z0-9.-]*:[^-])')",
    message: 'must be https://host/path, http://host/path, ssh://host/path or git@host:path',
  },
  {
    rule: "!self.matches('^[^/]*//[^/]*@') || self.matches('^ssh://git@[^/@]+(/|$)')",
    message: 'must not contain a user or a password; name a Secret instead',
  },
  { rule: String.raw`!self.matches(r'[\pZ\p{Cc}]')`, message: 'must not contain white space or control characters' },
] as const satisfies readonly ValidationRule[]

/**
 * Of a branch, tag, full ref or commit: git's rules for ref names, and no leading dash.
 * upstream: git check-ref-format(1)
 */
export const revisionRules = [
  {
    rule: String.raw`self.matches(r'^[^\x00-\x20\x7f~^:?*\[\\]+$') && !self.matches(r'^[-/]|[/.]$|\.\.|//|@\{|^@$|(^|/)\.|\.lock(/|$)')`,
    message: 'must be a branch, a tag, a full ref or a commit by the rules of git check-ref-format',
  },
] as const satisfies readonly ValidationRule[]

/** Of a notebook's path in its repository. */
export const pathRules = [
  { rule: "self.endsWith('.ipynb')", message: 'must end with .ipynb' },
  {
    rule: String.raw`!self.matches(r'^[-/]|//|(^|/)\.\.?(/|$)|[\p{Cc}\\]')`,
    message: 'must be a clean path relative to the root of the repository, without . or .. segments, backslashes or control characters',
  },
] as const satisfies readonly ValidationRule[]

/** Of a quantity that is a string. The pattern lets through some that are none, and negative ones. */
export const quantityRules = [
  { rule: "isQuantity(self) && !self.startsWith('-')", message: 'must be a quantity that is not negative' },
] as const satisfies readonly ValidationRule[]

/** The same for a quantity that may be an integer. */
export const intOrStringQuantityRules = [
  { rule: "type(self) == int ? self >= 0 : isQuantity(self) && !self.startsWith('-')", message: 'must be a quantity that is not negative' },
] as const satisfies readonly ValidationRule[]

// string() of an int-or-string would double the estimated cost, which counts each as long as a whole request.
const quantityOf = (value: string): string => `(type(${value}) == int ? quantity('0').add(${value}) : quantity(${value}))`

/** Of resources whose requests and limits are maps. */
export const requestRules = [
  {
    rule:
      '!has(self.requests) || !has(self.limits) || self.requests.all(name, !(name in self.limits) || ' +
      `!${quantityOf('self.requests[name]')}.isGreaterThan(${quantityOf('self.limits[name]')}))`,
    message: 'a request must not exceed its limit',
    fieldPath: '.requests',
  },
] as const satisfies readonly ValidationRule[]

/** The same for resources that have just the fields cpu and memory. */
export const cpuAndMemoryRequestRules = (['cpu', 'memory'] as const).map((name) => ({
  rule:
    `!has(self.requests) || !has(self.limits) || !has(self.requests.${name}) || !has(self.limits.${name}) || ` +
    `!isQuantity(self.requests.${name}) || !isQuantity(self.limits.${name}) || ` +
    `!quantity(self.requests.${name}).isGreaterThan(quantity(self.limits.${name}))`,
  message: 'a request must not exceed its limit',
  fieldPath: '.requests',
})) satisfies readonly ValidationRule[]

/** Of a decimal string, whose exponent the pattern keeps under 100. */
export const finiteRules = [
  { rule: "!self.matches('^0*[1-9][0-9]{200}')", message: 'must be finite' },
] as const satisfies readonly ValidationRule[]

/** Of a regular expression: evaluating it is an error when it does not compile, whatever the result would be. */
export const patternRules = [
  { rule: "''.matches(self) || !''.matches(self)", message: 'must be a regular expression in RE2 syntax' },
] as const satisfies readonly ValidationRule[]

/** Of labels and annotations of the pod. */
export const podMetadataRules = [
  { rule: "self.all(key, !key.startsWith('mlops.dev/'))", message: 'keys under mlops.dev/ are reserved' },
] as const satisfies readonly ValidationRule[]

/** Of an environment variable. */
export const environmentRules = [
  { rule: "!self.startsWith('MLOPS_')", message: 'names that begin with MLOPS_ are reserved' },
] as const satisfies readonly ValidationRule[]

/** Of a volume's name. */
export const volumeNameRules = [
  { rule: "!self.startsWith('mlops-')", message: 'names that begin with mlops- are reserved' },
] as const satisfies readonly ValidationRule[]

/** Of a volume: a source that the schema does not know is pruned, and must not leave a volume without source. */
export const volumeRules = [
  {
    rule:
      '[has(self.persistentVolumeClaim), has(self.configMap), has(self.secret), has(self.emptyDir), has(self.projected)]' +
      '.exists_one(given, given)',
    message: 'must have exactly one source: persistentVolumeClaim, configMap, secret, emptyDir or projected',
  },
] as const satisfies readonly ValidationRule[]

/** Of the place of a mount. */
export const mountPathRules = [
  {
    rule: String.raw`self.matches('^/[^/]') && !self.matches(r'//|/\.\.?(/|$)|[\p{Cc}\\:]')`,
    message: 'must be a clean absolute path below /',
  },
  { rule: "!self.matches('^/mlops(/|$)')", message: 'paths under /mlops are reserved' },
] as const satisfies readonly ValidationRule[]

/** Of the pod: each mount has its volume. */
export const mountRules = [
  {
    rule: '!has(self.volumeMounts) || self.volumeMounts.all(mount, has(self.volumes) && self.volumes.exists(volume, volume.name == mount.name))',
    message: 'each must name an entry of volumes',
    fieldPath: '.volumeMounts',
  },
] as const satisfies readonly ValidationRule[]

/** Of spec: the comparison with a golden notebook needs one. `comparison` is the name of the object in the version. */
export function goldenRule(comparison: string): ValidationRule {
  return {
    rule: `!has(self.${comparison}) || !has(self.${comparison}.reference) || self.${comparison}.reference != 'Golden' || has(self.golden)`,
    message: 'Golden needs spec.golden',
    fieldPath: `.${comparison}.reference`,
  }
}

/** Of spec: the field stays as it was created, also present or absent. */
export function immutable(field: string): ValidationRule {
  return {
    rule: `has(self.${field}) == has(oldSelf.${field}) && (!has(self.${field}) || self.${field} == oldSelf.${field})`,
    message: 'field is immutable',
    fieldPath: `.${field}`,
  }
}

/** Of spec: the field may only become less. */
export function onlyLowered(field: string): ValidationRule {
  return {
    rule: `has(self.${field}) == has(oldSelf.${field}) && (!has(self.${field}) || self.${field} <= oldSelf.${field})`,
    message: 'may only be lowered',
    fieldPath: `.${field}`,
  }
}
