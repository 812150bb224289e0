#if os(Linux)
import CSecret
import Crypto
import Foundation
import Synchronization

/// The sessions of this process, one after the other.
///
/// Owner of its state: one mutex.
enum SecretSessions {
    private struct State {
        var number = 0
        var allowance = SessionAllowance()
        /// In which session what is unreadable was seen first.
        var firstSeen: [SHA256Digest: Int] = [:]
    }

    private static let state = Mutex(State())

    /// How many sessions were given up: the number of the present one.
    static var number: Int { state.withLock(\.number) }

    /// Gives up a session, so that the next call begins another one, unless somebody else has done so. False where that
    /// was done too often.
    static func giveUp(_ number: Int) -> Bool {
        state.withLock { state in
            guard state.number == number else { return true }
            guard state.allowance.take(at: .now) else { return false }
            state.number += 1
            SecretLoop.run { lfs_secret_disconnect() }
            return true
        }
    }

    /// Whether what is unreadable has come out so in a session before: then it is what is stored.
    static func hasSeen(_ content: Data, at path: String, _ session: Int) -> Bool {
        let digest = SHA256.hash(data: Data(path.utf8) + [0] + content)
        return state.withLock { state in
            if let first = state.firstSeen[digest] { return first != session }
            // Forgotten, each is looked at once more.
            if state.firstSeen.count >= 100 { state.firstSeen = [:] }
            state.firstSeen[digest] = session
            return false
        }
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
