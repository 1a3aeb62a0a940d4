/** The pods of the worker as the cluster last told of them. */
import { type Pod, podKey } from './pod.ts'

/** One pod, followed by one attempt. */
export type FollowedPod = {
  /** As last seen; one that was deleted meanwhile stays as it was, with a deletionTimestamp. */
  current(): Pod | undefined
  /** Resolves at the next change, and at once for one since the last call. */
  changed(): Promise<void>
  stop(): void
}

/** Keeps the newest state of each pod, from a watch and from the answers to our own writes. */
export class PodCache {
  private readonly pods = new Map<string, Pod>()
  private readonly followers = new Map<string, { gone?: Pod; dirty: boolean; wake: () => void }>()

  get(key: string): Pod | undefined {
    return this.pods.get(key)
  }

  /** All that there are. */
  replace(pods: readonly Pod[]): void {
    const listed = new Set(pods.map((pod) => `${podKey(pod)}/${pod.metadata.uid}`))
    for (const pod of this.pods.values()) if (!listed.has(`${podKey(pod)}/${pod.metadata.uid}`)) this.remove(pod)
    for (const pod of pods) this.set(pod)
  }

  set(pod: Pod): void {
    const key = podKey(pod)
    const before = this.pods.get(key)
    if (before && before.metadata.uid === pod.metadata.uid && isOlder(pod, before)) return
    this.pods.set(key, pod)
    this.tell(key)
  }

  remove(pod: Pod): void {
    const key = podKey(pod)
    const before = this.pods.get(key)
    if (before && before.metadata.uid !== pod.metadata.uid) return
    this.pods.delete(key)
    const follower = this.followers.get(key)
    if (!follower) return
    follower.gone = { ...pod, metadata: { deletionTimestamp: pod.metadata.creationTimestamp ?? '', ...pod.metadata } }
    this.tell(key)
  }

  /** Follows the pod of a name, whether it is there or not. */
  follow(key: string): FollowedPod {
    const follower: { gone?: Pod; dirty: boolean; wake: () => void } = { dirty: false, wake: () => {} }
    this.followers.set(key, follower)
    return {
      current: () => this.pods.get(key) ?? follower.gone,
      changed: async () => {
        if (!follower.dirty) await new Promise<void>((resolve) => (follower.wake = resolve))
        follower.dirty = false
      },
      stop: () => {
        if (this.followers.get(key) === follower) this.followers.delete(key)
      },
    }
  }

  private tell(key: string): void {
    const follower = this.followers.get(key)
    if (!follower) return
    follower.dirty = true
    follower.wake()
  }
}

function isOlder(pod: Pod, than: Pod): boolean {
  const [a = '', b = ''] = [pod.metadata.resourceVersion, than.metadata.resourceVersion]
  return /^\d+$/.test(a) && /^\d+$/.test(b) && BigInt(a) < BigInt(b)
}
