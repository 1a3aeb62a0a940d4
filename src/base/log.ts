/** Structured logging: a constant lower-case message and key-value pairs. */
import { pino } from 'pino'

/** Levels from most to least talkative. */
export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/** A logger. `fields` are shown beside the message; an Error under the key `err` is shown with its stack. */
export interface Log {
  debug(message: string, fields?: Record<string, unknown>): void
  info(message: string, fields?: Record<string, unknown>): void
  warn(message: string, fields?: Record<string, unknown>): void
  error(message: string, fields?: Record<string, unknown>): void
  /** A logger that adds `fields` to every line. */
  with(fields: Record<string, unknown>): Log
}

function wrap(logger: import('pino').Logger): Log {
  return {
    debug: (message, fields) => logger.debug(fields ?? {}, message),
    info: (message, fields) => logger.info(fields ?? {}, message),
    warn: (message, fields) => logger.warn(fields ?? {}, message),
    error: (message, fields) => logger.error(fields ?? {}, message),
    with: (fields) => wrap(logger.child(fields)),
  }
}

/** A logger that writes JSON lines to standard error. */
export function openLog(level: LogLevel): Log {
  return wrap(pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, pino.destination({ dest: 2, sync: true })))
}

/** A logger that drops everything: for tests. */
export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {}, with: () => silentLog }
