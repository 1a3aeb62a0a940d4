/** One Python environment for all tests, kept between runs: making one takes ten seconds and more. */
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../base/clock.ts'
import type { Environment } from './process-group.ts'
import { preparePythonEnvironment } from './python-environment.ts'

/** Where it is kept; it is named after the digest of the requirements inside. */
export const TEST_PYTHON_DIRECTORY = join(tmpdir(), 'nvj-test-python')

/** What children of tests inherit: pip is configured by the machine. */
export function testEnvironment(): Environment {
  return { ...process.env }
}

/** The interpreter of the environment, made on first use. */
export function prepareTestPython(): Promise<string> {
  return preparePythonEnvironment({ directory: TEST_PYTHON_DIRECTORY, python: 'python3', environment: testEnvironment(), clock: systemClock })
}
