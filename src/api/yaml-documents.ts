/** Files with several documents, as kubectl takes them apart. upstream: apimachinery/pkg/util/yaml/decoder.go YAMLReader */

/** A document and the number of the line at which it begins, from 1. */
export interface TextDocument {
  readonly text: string
  readonly line: number
}

// A separator is followed by blanks or a comment only; anything else after it is content of a document that upstream refuses to split.
const SEPARATOR = /^---[ \t]*(?:#.*)?\r?$/

/** Splits a text at its separators, without the documents that hold nothing but comments. */
export function splitDocuments(text: string): TextDocument[] {
  const documents: TextDocument[] = []
  const lines = text.split('\n')
  let start = 0
  const close = (end: number): void => {
    const part = lines.slice(start, end)
    if (part.some((line) => line.trim() !== '' && !line.trimStart().startsWith('#'))) documents.push({ text: part.join('\n'), line: start + 1 })
    start = end + 1
  }
  for (const [i, line] of lines.entries()) if (SEPARATOR.test(line)) close(i)
  close(lines.length)
  return documents
}
