/** The command `report`: the last of the three steps of an attempt, as a process of its own. */
import { reportAttempt } from '../worker/report-attempt.ts'

/** Writes DIRECTORY/report.json. Resolves to the exit code: 0 when it was written, else 1 with one line on standard error. */
export async function runReport(directory: string): Promise<number> {
  try {
    await reportAttempt(directory)
    return 0
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    process.stderr.write(`report: ${message.replaceAll(/\s+/g, ' ')}\n`)
    return 1
  }
}
