import Foundation
import LFSWire
import Synchronization

/// How many requests each account makes: so many a second, and ten seconds' worth at once. A push costs one, and one
/// more for each hundred mutations.
///
/// Owner of the numbers: the mutex.
final class RequestRate: Sendable {
    private struct Bucket {
        var left: Double
        var at: Date
    }

    private let perSecond: Double
    private let now: @Sendable () -> Date
    private let buckets = Mutex<[String: Bucket]>([:])

    private var most: Double { perSecond * 10 }

    init(perSecond: Int, now: @escaping @Sendable () -> Date) {
        (self.perSecond, self.now) = (Double(max(1, perSecond)), now)
    }

    /// Mutations that count as much as a request.
    static let mutationsPerRequest = 100.0

    /// Takes one request of an account.
    ///
    /// - Throws: ``WireFailure/Code/throttled`` with the seconds until the next.
    func take(_ account: String) throws(WireFailure) {
        let now = now()
        let wait = buckets.withLock { buckets -> Double? in
            // Full ones say nothing.
            if buckets.count > 10_000 { buckets = buckets.filter { refilled($0.value, now).left < most } }
            var bucket = buckets[account].map { refilled($0, now) } ?? Bucket(left: most, at: now)
            defer { buckets[account] = bucket }
            guard bucket.left >= 1 else { return (1 - bucket.left) / perSecond }
            bucket.left -= 1
            return nil
        }
        guard let wait else { return }
        throw WireFailure(.throttled, "This account asks too often.", retryAfter: Int64(wait.rounded(.up)))
    }

    /// Charges an account for the mutations of a push, also for more than it has left: its next requests wait.
    ///
    /// - Parameter mutations: how many; a negative number gives back those that were not applied.
    func charge(_ account: String, mutations: Int) {
        let now = now()
        buckets.withLock { buckets in
            var bucket = buckets[account].map { refilled($0, now) } ?? Bucket(left: most, at: now)
            bucket.left = min(most, bucket.left - Double(mutations) / Self.mutationsPerRequest)
            buckets[account] = bucket
        }
    }

    /// A clock that goes back gives nothing, and takes nothing.
    private func refilled(_ bucket: Bucket, _ now: Date) -> Bucket {
        Bucket(left: min(most, bucket.left + max(0, now.timeIntervalSince(bucket.at)) * perSecond), at: now)
    }
}
