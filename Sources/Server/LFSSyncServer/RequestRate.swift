import Foundation
import LFSWire
import Synchronization

/// A limit for the requests of each account: an average number per second, and up to ten times as many at once. A push
/// counts as one request, and as one more for each hundred mutations or for each ten milliseconds, whichever is more.
///
/// The mutex owns the numbers.
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
        self.perSecond = Double(max(1, perSecond))
        self.now = now
    }

    /// The number of mutations that count as one request.
    static let mutationsPerRequest = 100.0

    /// Returns the number of mutations that count as much as some time of the database.
    static func mutations(worth duration: Duration) -> Int {
        Int(min(max(duration / .milliseconds(10), 0), 1_000_000)) * Int(mutationsPerRequest)
    }

    /// Takes one request of an account.
    ///
    /// - Throws: ``WireFailure/Code/throttled`` with the seconds until the next request is permitted.
    func take(_ account: String) throws(WireFailure) {
        let now = now()
        let wait = buckets.withLock { buckets -> Double? in
            // A full bucket is equal to a new one.
            if buckets.count > 10_000 { buckets = buckets.filter { refilled($0.value, now: now).left < most } }
            var bucket = buckets[account].map { refilled($0, now: now) } ?? Bucket(left: most, at: now)
            defer { buckets[account] = bucket }
            guard bucket.left >= 1 else { return (1 - bucket.left) / perSecond }
            bucket.left -= 1
            return nil
        }
        guard let wait else { return }
        throw WireFailure(
            .throttled, message: "This account sends too many requests.", retryAfter: Int64(wait.rounded(.up)))
    }

    /// Charges an account for the mutations of a push, even for more than it has left. Its next requests then have to
    /// wait.
    ///
    /// - Parameter mutations: the number of mutations. A negative number returns those that were not applied.
    func charge(_ account: String, mutations: Int) {
        let now = now()
        buckets.withLock { buckets in
            var bucket = buckets[account].map { refilled($0, now: now) } ?? Bucket(left: most, at: now)
            bucket.left = min(most, bucket.left - Double(mutations) / Self.mutationsPerRequest)
            buckets[account] = bucket
        }
    }

    /// Returns a bucket with the tokens of the elapsed time. A clock that goes back adds and removes no tokens.
    private func refilled(_ bucket: Bucket, now: Date) -> Bucket {
        Bucket(left: min(most, bucket.left + max(0, now.timeIntervalSince(bucket.at)) * perSecond), at: now)
    }
}
