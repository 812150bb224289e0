import Foundation
import LFSWire
import Synchronization

/// A limit for the requests of each account: an average number per second, and up to ten times as many at once. A push
/// counts as one request, and as one more for each hundred mutations or for each ten milliseconds of the database,
/// whichever is more. A digest and a change of checkpoints count as one request, and as one more for each ten
/// milliseconds.
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

    /// The units of cost that count as one request. A mutation costs one unit.
    static let unitsPerRequest = 100

    /// Returns the cost of some time of the database, in units. Each ten milliseconds count as one request.
    static func cost(of duration: Duration) -> Int {
        Int(min(max(duration / .milliseconds(10), 0), 1_000_000)) * unitsPerRequest
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

    /// Charges an account for the cost of a request, even for more than it has left. Its next requests then have to
    /// wait.
    ///
    /// - Parameters:
    ///   - units: the cost in units. A negative number returns a part of an earlier charge.
    ///   - requests: the number of requests that the account keeps in any case, if it has that many. Nil for none.
    func charge(_ account: String, units: Int, leaving requests: Int? = nil) {
        let now = now()
        buckets.withLock { buckets in
            var bucket = buckets[account].map { refilled($0, now: now) } ?? Bucket(left: most, at: now)
            let left = bucket.left - Double(units) / Double(Self.unitsPerRequest)
            bucket.left = min(most, requests.map { max(min(bucket.left, Double($0)), left) } ?? left)
            buckets[account] = bucket
        }
    }

    /// Returns a bucket with the tokens of the elapsed time. A clock that goes back adds and removes no tokens.
    private func refilled(_ bucket: Bucket, now: Date) -> Bucket {
        Bucket(left: min(most, bucket.left + max(0, now.timeIntervalSince(bucket.at)) * perSecond), at: now)
    }
}

/// The time that a request has used the database, without the time that it has waited for it.
///
/// The mutex owns the time.
final class WorkTime: Sendable {
    private let clock: @Sendable () -> ContinuousClock.Instant
    private let time = Mutex(Duration.zero)

    init(_ clock: @escaping @Sendable () -> ContinuousClock.Instant) { self.clock = clock }

    var total: Duration { time.withLock { $0 } }

    /// Runs a part of the work and adds its time.
    func measure<Value>(_ body: () throws -> Value) rethrows -> Value {
        let start = clock()
        defer {
            let duration = start.duration(to: clock())
            time.withLock { $0 += duration }
        }
        return try body()
    }
}
