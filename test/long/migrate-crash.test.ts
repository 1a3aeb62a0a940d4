// The kills of test/fault, a hundred times; the model with many more pairs of departures.
process.env.KILL_ROUNDS ??= '100'
process.env.MODEL_RUNS ??= '20000'
await import('../fault/migrate-crash.test.ts')
await import('../model/migration-model.test.ts')
