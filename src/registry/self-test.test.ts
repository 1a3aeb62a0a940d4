import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sealTwin, twinCodec } from '../../test/model/twin-codec.ts'
import { checkSamples } from './self-test.ts'

const sample = (text: string, hub = text) => ({ value: Buffer.from(sealTwin({ key: 'a', text }, 'v1beta1')).toString('base64'), hub: JSON.stringify(['a', hub]) })

test('samples are read as what they are, and written at every version', () => {
  checkSamples(twinCodec(), [sample('x'), sample('y')])
  assert.throws(() => checkSamples(twinCodec(), [sample('x'), sample('y', 'z')]), { message: 'sample 2 is read as another object' })
  assert.throws(() => checkSamples(twinCodec(), [sample('lossy one')]), { message: 'sample 1 cannot be written at v1: that would change it' })
  assert.throws(() => checkSamples(twinCodec(['v1']), [sample('x')]), { message: 'unknown version v1beta1' })
})
