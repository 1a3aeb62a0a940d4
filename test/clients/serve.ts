/** The product with the definitions of this folder, as a user starts it. */
import { join } from 'node:path'
import { freePort } from '../free-ports.ts'
import { startProduct, type Product } from '../product.ts'

/** Flags that serve `TrainingRun`, in two versions with a lens between them, and `Checkpoint`. */
export const DEFINITIONS = ['--definition', join(import.meta.dirname, 'definitions', 'training.yaml'), '--lenses', join(import.meta.dirname, 'definitions', 'lenses.yaml')]

export interface TrainingServer {
  readonly kubeconfig: string
  /** The one that runs now. */
  readonly product: Product
  /** Stops it in order, or as a crash would. */
  stop(signal?: 'SIGKILL'): Promise<void>
  /** Starts it again on the same data and the same port. */
  start(): Promise<void>
}

/** Starts it on a port that stays its own. `args` choose another store, `command` `serve`. */
export async function startTraining(directory: string, options: { readonly args?: readonly string[]; readonly command?: 'serve' } = {}): Promise<TrainingServer & AsyncDisposable> {
  const port = await freePort()
  const begin = () => startProduct(directory, { ...options, args: ['--port', String(port), ...DEFINITIONS, ...(options.args ?? [])] })
  let product = await begin()
  return {
    kubeconfig: join(directory, 'kubeconfig'),
    get product() {
      return product
    },
    async stop(signal) {
      await product.stop(signal ?? 'SIGTERM')
    },
    async start() {
      product = await begin()
    },
    async [Symbol.asyncDispose]() {
      await product[Symbol.asyncDispose]()
    },
  }
}
