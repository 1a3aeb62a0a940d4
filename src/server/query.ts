/** Queries of URLs. */

const BAD_ESCAPE = /%(?![0-9A-Fa-f]{2})/

/** The parameters of a query, without those that Go drops in silence: with a semicolon, or an escape that is none. upstream: net/url ParseQuery, URL.Query */
export function parseQuery(query: string): URLSearchParams {
  const pairs = query.split('&').filter((pair) => !pair.includes(';') && !BAD_ESCAPE.test(pair))
  // The first would lose a question mark.
  return new URLSearchParams(`&${pairs.join('&')}`)
}

/** The parameters of a request target. */
export function queryOf(url: string): URLSearchParams {
  const mark = url.indexOf('?')
  return parseQuery(mark < 0 ? '' : url.slice(mark + 1))
}
