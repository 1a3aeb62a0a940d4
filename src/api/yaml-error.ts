/**
 * What libyaml's port says where the yaml package refuses a document.
 * upstream: go.yaml.in/yaml/v2 scannerc.go, parserc.go, decode.go (parser.fail)
 */
import type { ErrorCode, LineCounter, YAMLParseError } from 'yaml'

// Errors of upstream's scanner, which count lines from 1; those of its parser count from 0. Both leave the first line out.
const SCANNER: Partial<Record<ErrorCode, string>> = {
  BLOCK_AS_IMPLICIT_KEY: 'mapping values are not allowed in this context',
  MULTILINE_IMPLICIT_KEY: "could not find expected ':'",
  KEY_OVER_1024_CHARS: "could not find expected ':'",
  BAD_SCALAR_START: 'found character that cannot start any token',
  BAD_DQ_ESCAPE: 'found unknown escape character',
  BAD_DIRECTIVE: 'found unknown directive name',
}

const PARSER: Partial<Record<ErrorCode, string>> = {
  BAD_INDENT: 'did not find expected key',
  BLOCK_IN_FLOW: "did not find expected ',' or '}'",
  UNEXPECTED_TOKEN: 'did not find expected key',
  TAG_RESOLVE_FAILED: 'found undefined tag handle',
}

/** The text for the first error of a document: `yaml: line 3: mapping values are not allowed in this context`. */
export function yamlErrorText(error: YAMLParseError, text: string, lines: LineCounter): string {
  const line = lines.linePos(error.pos[0]).line
  if (error.code === 'BAD_ALIAS') return `yaml: unknown anchor '${text.slice(error.pos[0], error.pos[1]).replace(/^\*/, '')}' referenced`
  if (error.code === 'RESOURCE_EXHAUSTION') return 'yaml: exceeded max depth of 10000'
  if (error.code === 'MISSING_CHAR') return missingChar(error, text, line)
  const scanner = SCANNER[error.code]
  if (error.code === 'TAB_AS_INDENT' || beginsWithTab(text, error.pos[0])) return scannerText(line, tabText(text, error.pos[0]))
  if (scanner !== undefined) return scannerText(line, scanner)
  return at(line - 1, PARSER[error.code] ?? 'did not find expected node content')
}

function missingChar(error: YAMLParseError, text: string, line: number): string {
  if (error.message.includes('quote')) return scannerText(line, 'found unexpected end of stream')
  const close = /end with a? ?([\]}])/.exec(error.message)?.[1]
  const rest = text.slice(0, error.pos[0]).trimEnd()
  // At the end of the input upstream's scanner has gone on to the next line, unless it was there.
  const atEnd = text.slice(error.pos[0]).trim() === ''
  if (close === undefined) return `yaml: line ${nextTokenLine(text, error.pos[0], line)}: could not find expected ':'`
  const lastLine = text.split('\n').length - (text.endsWith('\n') ? 1 : 0)
  if (atEnd && /[[{,]$/.test(rest)) return at(lastLine, 'did not find expected node content')
  return at(atEnd ? lastLine : line - 1, `did not find expected ',' or '${close}'`)
}

// Where upstream's scanner is when it knows that what it has read is no key.
function nextTokenLine(text: string, from: number, line: number): number {
  const end = text.indexOf('\n', from)
  const blank = end < 0 ? '' : (/^(?:[ \t]*(?:#.*)?\n)*/.exec(text.slice(end + 1))?.[0] ?? '')
  return line + 1 + blank.split('\n').length - 1
}

function scannerText(line: number, text: string): string {
  return at(line > 1 ? line : 0, text)
}

/** What a plain scalar cannot end with: an indicator, a quote or bracket, a comment, or the marks of documents. */
const NO_PLAIN_SCALAR = /(?:^|\s)(?:[-?:]|---|\.\.\.|#.*)$|[:'"\]},[{]$|^%/
const BLOCK_SCALAR = /(?:^|\s)[|>][-+\d]*(?:\s+#.*)?$/

function beginsWithTab(text: string, offset: number): boolean {
  return /^ *\t/.test(text.slice(text.lastIndexOf('\n', offset - 1) + 1))
}

// Upstream's scanner meets the tab where it goes on with what stands before it. upstream: scannerc.go yaml_parser_scan_plain_scalar, yaml_parser_scan_block_scalar_breaks
function tabText(text: string, offset: number): string {
  const before = text.slice(0, text.lastIndexOf('\n', offset - 1) + 1).trimEnd()
  const line = before.slice(before.lastIndexOf('\n') + 1)
  if (BLOCK_SCALAR.test(line)) return 'found a tab character where an indentation space is expected'
  return before === '' || NO_PLAIN_SCALAR.test(line) ? 'found character that cannot start any token' : 'found a tab character that violates indentation'
}

function at(line: number, text: string): string {
  return line > 0 ? `yaml: line ${line}: ${text}` : `yaml: ${text}`
}
