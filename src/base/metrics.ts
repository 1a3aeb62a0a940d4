/** Metrics in the Prometheus text form. Names and labels are those of whoever makes them. */
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'

/** The values of a metric's labels. */
export type Labels<L extends string> = Readonly<Record<L, string | number>>

/** A number that grows. */
export interface CounterMetric<L extends string> {
  add(labels: Labels<L>, value?: number): void
}

/** A number that goes up and down. */
export interface GaugeMetric<L extends string> {
  set(labels: Labels<L>, value: number): void
  add(labels: Labels<L>, value: number): void
  /** Forgets the values of all labels. */
  clear(): void
}

/** A number that grows elsewhere, and is looked at. */
export interface TotalMetric<L extends string> {
  set(labels: Labels<L>, value: number): void
  /** Forgets the values of all labels. */
  clear(): void
}

/** A distribution. */
export interface HistogramMetric<L extends string> {
  observe(labels: Labels<L>, value: number): void
}

/** A metric's name, help text and label names. */
export interface MetricOptions<L extends string> {
  readonly name: string
  readonly help: string
  readonly labels: readonly L[]
}

/** A set of metrics, written together. A name can be taken only once. */
export interface MetricSet {
  counter<L extends string>(options: MetricOptions<L>): CounterMetric<L>
  /** Shown as a counter. */
  total<L extends string>(options: MetricOptions<L>): TotalMetric<L>
  gauge<L extends string>(options: MetricOptions<L>): GaugeMetric<L>
  /** `buckets` are upper bounds, ascending. */
  histogram<L extends string>(options: MetricOptions<L> & { readonly buckets: readonly number[] }): HistogramMetric<L>
  /** Called before everything is written, to look at what is not counted as it happens. A failure leaves the values as they were. */
  onRead(look: () => Promise<void>): void
  /** Everything as text. */
  text(): Promise<string>
  /** The media type of `text`. */
  readonly contentType: string
}

/** An empty set. With `process`, also this process's CPU, memory, file descriptors and event loop under their usual names. */
export function openMetrics({ process }: { readonly process: boolean }): MetricSet {
  const registry = new Registry()
  if (process) collectDefaultMetrics({ register: registry })
  const common = <L extends string>({ name, help, labels }: MetricOptions<L>) => ({ name, help, labelNames: [...labels], registers: [registry] })
  const looks: (() => Promise<void>)[] = []
  return {
    counter(options) {
      const counter = new Counter(common(options))
      return { add: (labels, value = 1) => counter.inc(labels, value) }
    },
    total(options) {
      const counter = new Counter(common(options))
      return {
        set(labels, value) {
          counter.remove({ ...labels })
          counter.inc(labels, value)
        },
        clear: () => counter.reset(),
      }
    },
    gauge(options) {
      const gauge = new Gauge(common(options))
      return { set: (labels, value) => gauge.set(labels, value), add: (labels, value) => gauge.inc(labels, value), clear: () => gauge.reset() }
    },
    histogram(options) {
      const histogram = new Histogram({ ...common(options), buckets: [...options.buckets] })
      return { observe: (labels, value) => histogram.observe(labels, value) }
    },
    onRead: (look) => void looks.push(look),
    async text() {
      await Promise.allSettled(looks.map((look) => look()))
      return await registry.metrics()
    },
    contentType: registry.contentType,
  }
}
