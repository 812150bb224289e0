#if os(Linux)
import CSecret
import Synchronization

/// The sessions of this process, one after the other.
///
/// Owner of its state: one mutex.
enum SecretSessions {
    private static let allowance = Mutex(SessionAllowance())

    /// Gives up the session of now, so that the next call begins another one. False where that was done too often.
    static func giveUp() -> Bool {
        guard allowance.withLock({ $0.take(at: .now) }) else { return false }
        SecretLoop.run { lfs_secret_disconnect() }
        return true
    }
}

/// How many sessions may be given up: six at once, and one more each minute.
///
/// That so many do not fit one after the other happens once in 10^10. libsecret 0.20 never frees what belongs to a
/// session, some kilobytes, and what is damaged or refused for another reason fails in each.
struct SessionAllowance {
    private static let limit = 6
    private static let refill = Duration.seconds(60)

    private var left = limit
    /// Since when there is the time of the next one.
    private var since: ContinuousClock.Instant?

    mutating func take(at now: ContinuousClock.Instant) -> Bool {
        while let start = since, now - start >= Self.refill, left < Self.limit {
            left += 1
            since = start + Self.refill
        }
        guard left > 0 else { return false }
        if left == Self.limit { since = now }
        left -= 1
        return true
    }
}
#endif
