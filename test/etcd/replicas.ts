/** Two API servers on one etcd, each its own process, and the storage commands beside them. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { runProduct, startProduct, type Exit, type Product } from '../product.ts'

export const RESOURCE = 'notebookvalidationjobs.mlops.dev'

/** Where the replicas of a test work. */
export interface Replicas {
  /** The flags that name the etcd. */
  readonly servers: readonly string[]
  /** Starts one; its directory is of this name. All know the same clients. */
  start(name: string): Promise<Product>
  /** A storage command on etcd itself. */
  direct(...args: string[]): Promise<Exit>
}

/** Replicas on an etcd, with what they keep in a directory. */
export function openReplicas(endpoints: readonly string[], directory: string): Replicas {
  const servers = ['--etcd-servers', endpoints.join(',')]
  return {
    servers,
    start: (name) => startProduct(join(directory, name), { command: 'serve', args: [...servers, '--pki-dir', join(directory, 'pki')] }),
    direct: (...args) => runProduct(['storage', ...args, ...servers]),
  }
}

/** A storage command through a server. */
export const through = (product: Product, ...args: string[]): Promise<Exit> => runProduct(['storage', ...args, '--kubeconfig', join(product.directory, 'kubeconfig')])

/** Waits for the end of a command and holds its exit code. */
export async function done(exit: Promise<Exit>, code = 0): Promise<Exit> {
  const ended = await exit
  assert.equal(ended.code, code, `${ended.stdout}${ended.stderr}`)
  return ended
}
