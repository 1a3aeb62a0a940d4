// The kills of test/fault, a hundred times.
process.env.KILL_ROUNDS ??= '100'
await import('../fault/kill-storage.test.ts')
