/** `/version`. upstream: apimachinery/pkg/version/types.go: Info */

/** The Kubernetes whose behaviour we have. Clients choose by these two what they may ask for. */
const MAJOR = '1'
const MINOR = '36'
const BEHAVES_AS = `v${MAJOR}.${MINOR}.3`

/** version.Info, keys in upstream's order. */
export interface VersionInfo {
  readonly major: string
  readonly minor: string
  readonly gitVersion: string
  readonly gitCommit: string
  readonly gitTreeState: string
  readonly buildDate: string
  readonly goVersion: string
  readonly compiler: string
  readonly platform: string
}

const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', ia32: '386' }

/**
 * What we say we are. Our own version (`0.1.0`) is build metadata after a `+`, as k3s does it: kubectl and Helm
 * compare versions by semver, where metadata does not count, while a pre-release after a `-` would make us older than 1.36.
 */
export function versionInfo(ownVersion: string): VersionInfo {
  return {
    major: MAJOR,
    minor: MINOR,
    gitVersion: `${BEHAVES_AS}+mlops.${ownVersion}`,
    gitCommit: '',
    gitTreeState: '',
    buildDate: '',
    goVersion: '',
    compiler: `node-${process.versions.node}`,
    platform: `${process.platform}/${ARCHITECTURES[process.arch] ?? process.arch}`,
  }
}
