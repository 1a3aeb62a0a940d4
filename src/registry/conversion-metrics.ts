/** Time and failures of conversions between versions. */
import type { Conversion } from '../api/conversion.ts'
import { qualifiedName } from '../api/resource.ts'
import type { Clock } from '../base/clock.ts'
import type { MetricSet } from '../base/metrics.ts'
import type { ServedResource } from './resource-store.ts'

const SECONDS = [0.00001, 0.00003, 0.0001, 0.0003, 0.001, 0.003, 0.01, 0.1]

/** The same resources, whose conversions are timed; those of the hub to itself are none. */
export function measureConversions(resources: readonly ServedResource[], set: MetricSet, clock: Clock): ServedResource[] {
  const seconds = set.histogram({ name: 'mlops_conversion_seconds', help: 'Time of a conversion of one object between a version and the newest one.', labels: ['resource', 'version'], buckets: SECONDS })
  const errors = set.counter({ name: 'mlops_conversion_errors_total', help: 'Conversions that failed.', labels: ['resource', 'version'] })
  return resources.map((served) => {
    const resource = qualifiedName(served.definition)
    const { conversion } = served
    const measure = <T>(version: string, convert: () => T): T => {
      if (version === conversion.hub) return convert()
      const start = clock.monotonic()
      try {
        return convert()
      } catch (error) {
        errors.add({ resource, version })
        throw error
      } finally {
        seconds.observe({ resource, version }, (clock.monotonic() - start) / 1000)
      }
    }
    const measured: Conversion = {
      ...conversion,
      show: (hub, version) => measure(version, () => conversion.show(hub, version)),
      lift: (object, version, original) => measure(version, () => conversion.lift(object, version, original)),
      store: (hub, version) => measure(version, () => conversion.store(hub, version)),
      load: (stored) => measure(stored.version, () => conversion.load(stored)),
    }
    return { ...served, conversion: measured }
  })
}
