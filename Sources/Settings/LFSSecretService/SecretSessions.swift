#if os(Linux)
import CSecret
import Crypto
import Foundation
import Synchronization

/// The consecutive sessions of this process with the service.
///
/// One mutex owns the state.
enum SecretSessions {
    private struct State {
        var number = 0
        var allowance = SessionAllowance()
        /// The session in which each unreadable content was first seen.
        var firstSeen: [SHA256Digest: Int] = [:]
    }

    private static let state = Mutex(State())

    /// The number of closed sessions, which identifies the current one.
    static var number: Int { state.withLock(\.number) }

    /// Closes a session, so that the next call starts another one, unless that has already happened. Returns false if
    /// too many sessions were closed.
    static func giveUp(_ number: Int) -> Bool {
        state.withLock { state in
            guard state.number == number else { return true }
            guard state.allowance.take(at: .now) else { return false }
            state.number += 1
            SecretLoop.run { lfs_secret_disconnect() }
            return true
        }
    }

    /// Returns true if an earlier session returned the same unreadable content. It is the stored content then.
    static func hasSeen(_ content: Data, at path: String, session: Int) -> Bool {
        let digest = SHA256.hash(data: Data(path.utf8) + [0] + content)
        return state.withLock { state in
            if let first = state.firstSeen[digest] { return first != session }
            // Forgotten contents are only checked once more.
            if state.firstSeen.count >= 100 { state.firstSeen = [:] }
            state.firstSeen[digest] = session
            return false
        }
    }
}

/// The limit for closing sessions: six at once, and one more each minute.
///
/// Six consecutive sessions that do not work have a probability of 10⁻¹⁰. libsecret 0.20 never frees the data of a
/// session, a few kilobytes. Data that is damaged or refused for another reason fails in each session.
struct SessionAllowance {
    private static let limit = 6
    private static let refill = Duration.seconds(60)

    private var left = limit
    /// The start of the current refill interval.
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
