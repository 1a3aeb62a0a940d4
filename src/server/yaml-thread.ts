/** The thread that parses large YAML bodies: bytes in, JSON out, one body at a time. */
import { parentPort, type MessagePort } from 'node:worker_threads'
import { DecodeError, decodeYaml, encodeInOrder } from '../api/codec.ts'
import { decodeText } from '../api/decode-text.ts'

/** What becomes of a body: the UTF-8 JSON of its value, or what is wrong with it. */
export type YamlReply = { readonly json: Uint8Array; readonly duplicates: string[] } | { readonly problem: string }

const port = parentPort as MessagePort

function parse(bytes: Uint8Array): YamlReply {
  try {
    const { value, duplicates } = decodeYaml(decodeText(bytes))
    return { json: Buffer.from(encodeInOrder(value)), duplicates }
  } catch (error) {
    if (error instanceof DecodeError) return { problem: error.message }
    throw error
  }
}

port.on('message', (bytes: Uint8Array) => port.postMessage(parse(bytes)))
