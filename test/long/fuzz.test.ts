// The hostile inputs of test/fuzz-*.test.ts, thirty times as many.
process.env.FUZZ_ROUNDS ??= '30'
await import('../fuzz-input.test.ts')
await import('../fuzz-server.test.ts')
