import { describeBackend } from '../../storage/backend.suite.ts'
import { openManualClock } from './manual-clock.ts'
import { openMemoryBackend } from './memory-backend.ts'

describeBackend(
  'in-memory backend',
  async () => {
    const clock = openManualClock()
    return { backend: openMemoryBackend({ clock }), advance: clock.advance }
  },
  { durable: false },
)
