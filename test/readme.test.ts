/** The README's table of settings is the one of src/config.ts: `node test/readme.test.ts --rewrite` writes it. */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { SETTINGS, type Setting } from '../src/config.ts'

const README = join(import.meta.dirname, '..', 'README.md')
const BETWEEN = /(<!-- settings:begin .*-->\n)([\s\S]*?)(<!-- settings:end -->)/

function settingsTable(): string {
  const cell = (text: string) => text.replaceAll('|', String.raw`\|`).replaceAll('<', '&lt;')
  const rows = Object.values(SETTINGS).map(({ flag, env, value, default: standard, help }: Setting) =>
    `| \`${value === undefined ? flag : `${flag} ${value}`}\` | \`${env}\` | ${cell(standard ?? '')} | ${cell(help)} |\n`)
  return `| flag | environment | default | what for |\n|---|---|---|---|\n${rows.join('')}`
}

test('the settings in the README are those of the program', () => {
  const readme = readFileSync(README, 'utf8')
  const [, begin, table, end] = BETWEEN.exec(readme) ?? []
  assert.ok(begin !== undefined && end !== undefined, 'the README has no place for the settings')
  if (process.argv.includes('--rewrite')) writeFileSync(README, readme.replace(BETWEEN, () => `${begin}${settingsTable()}${end}`))
  else assert.equal(table, settingsTable(), 'write it again with: node test/readme.test.ts --rewrite')
})
