import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemClock } from '../src/base/clock.ts'
import { silentLog } from '../src/base/log.ts'
import { ensurePki } from '../src/commands/pki.ts'
import { openManualClock } from '../test/model/manual-clock.ts'
import { readCertificate, watchCertificate } from './certificate-files.ts'

test('a certificate is read again when its files change, and not while they do not belong together', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'mlops-certificate-'))
  try {
    const [one, two] = await Promise.all(['a', 'b'].map(async (name) => (await ensurePki(join(directory, name), { hosts: [], clock: systemClock })).server))
    assert.ok(one && two)
    const files = { cert: join(directory, 'tls.crt'), key: join(directory, 'tls.key') }
    await assert.rejects(readCertificate(files), /ENOENT.*tls\.(crt|key)/)
    writeFileSync(files.cert, one.cert)
    writeFileSync(files.key, two.key)
    await assert.rejects(readCertificate(files), /tls\.key is not the key of the certificate in .*tls\.crt/)
    writeFileSync(files.key, one.key)
    const first = await readCertificate(files)
    const stop = new AbortController()
    const clock = openManualClock()
    // Files are read beside the clock.
    const poll = async (): Promise<void> => {
      await clock.advance(60_000)
      await systemClock.sleep(100)
    }
    const used: string[] = []
    const watching = watchCertificate(files, first, { use: ({ cert }) => void used.push(cert), clock, log: silentLog, signal: stop.signal })
    writeFileSync(files.key, two.key)
    await poll()
    assert.deepEqual(used, [])
    writeFileSync(files.cert, two.cert)
    for (let i = 0; i < 100 && used.length === 0; i++) await poll()
    assert.deepEqual(used, [two.cert])
    stop.abort()
    await watching
  } finally {
    rmSync(directory, { recursive: true })
  }
})
