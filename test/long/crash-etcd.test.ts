// The kills of test/etcd, a hundred times.
process.env.CRASH_ROUNDS ??= '100'
await import('../etcd/crash.test.ts')
