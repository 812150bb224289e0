import Crypto
import Foundation
import Synchronization

/// A limit of failed logins for each address. A token that was valid before is not limited, so that an address with
/// failures does not lock out the other devices behind it.
///
/// The addresses of an IPv6 /64 count as one. The mutex owns the state.
public final class FailedLogins: Sendable {
    private struct Bucket {
        var left: Double
        var at: ContinuousClock.Instant
    }

    private struct State {
        var buckets: [[UInt8]: Bucket] = [:]
        /// The hashes of tokens that were valid.
        var proven: Set<SHA256Digest> = []
    }

    /// The maximum numbers of addresses and of tokens. Above them, the oldest knowledge is lost.
    private static let bucketLimit = 20_000
    private static let provenLimit = 50_000

    private let perMinute: Double
    private let now: @Sendable () -> ContinuousClock.Instant
    private let state = Mutex(State())

    /// Creates a limit without failures.
    ///
    /// - Parameters:
    ///   - perMinute: the average number of failed logins that an address may make in a minute, at least 1. It may make
    ///     the same number at once.
    ///   - now: returns the current time.
    public init(perMinute: Int, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
        self.perMinute = Double(max(perMinute, 1))
        self.now = now
    }

    /// Returns true if a request may try to log in with a token.
    func permits(_ token: String, from address: String) -> Bool {
        let (hash, key, now) = (Self.hash(token), AddressRange.customer(address) ?? [], now())
        return state.withLock { state in
            guard !state.proven.contains(hash), let bucket = state.buckets[key] else { return true }
            return refilled(bucket, at: now).left >= 1
        }
    }

    /// Records the result of a login.
    func record(_ token: String, from address: String, isValid: Bool) {
        let (hash, key, now) = (Self.hash(token), AddressRange.customer(address) ?? [], now())
        state.withLock { state in
            if isValid {
                if state.proven.count >= Self.provenLimit { state.proven = [] }
                state.proven.insert(hash)
                return
            }
            state.proven.remove(hash)
            if state.buckets.count >= Self.bucketLimit {
                state.buckets = state.buckets.filter { refilled($0.value, at: now).left < perMinute }
                if state.buckets.count >= Self.bucketLimit { state.buckets = [:] }
            }
            var bucket = state.buckets[key].map { refilled($0, at: now) } ?? Bucket(left: perMinute, at: now)
            bucket.left = max(0, bucket.left - 1)
            state.buckets[key] = bucket
        }
    }

    private func refilled(_ bucket: Bucket, at now: ContinuousClock.Instant) -> Bucket {
        let minutes = max(0, bucket.at.duration(to: now) / .seconds(60))
        return Bucket(left: min(perMinute, bucket.left + minutes * perMinute), at: now)
    }

    private static func hash(_ token: String) -> SHA256Digest { SHA256.hash(data: Data(token.utf8)) }
}
