/** What of a request the registry's writing verbs are told. */
import { managerName } from '../api/managed-fields/manager-name.ts'
import type { Endpoint } from '../api/managed-fields/scope.ts'
import { badRequest } from '../api/status.ts'
import { checkPathName, type WriteOptions } from '../registry/write.ts'
import { objectNamespace, type RequestContext } from './context.ts'

/** The options of a write. */
export function writeOptions(context: RequestContext, { dryRun, fieldManager = '' }: { readonly dryRun: boolean; readonly fieldManager?: string }): WriteOptions {
  const { info, version, warnings, req } = context
  return {
    version: version.name,
    namespace: objectNamespace(context),
    // Others the server does not let in.
    subresource: info.subresource as Endpoint['subresource'],
    dryRun,
    manager: managerName(fieldManager, req.headers['user-agent'] ?? ''),
    warn: (text) => warnings.add(text),
  }
}

/** The name in the path. Throws 400 when there is none, or none that an object can have. */
export function requireName({ info }: RequestContext): string {
  if (!info.namedInPath) throw badRequest('name must be provided')
  checkPathName(info.name)
  return info.name
}
