/// A download that resumes after an interruption. It keeps the received bytes only if the object is still the version
/// that they belong to. Bytes of two versions, or of an unknown version, are never combined.
package struct ResumingDownload {
    /// The bytes received so far.
    package struct ResumedRange: Sendable {
        package var byteCount: Int64
        /// The version that the bytes belong to, or nil if it is unknown.
        package var entityTag: String?

        package init(byteCount: Int64, entityTag: String?) {
            self.byteCount = byteCount
            self.entityTag = entityTag
        }

        /// Receives the version of the following bytes. Returns true if they belong to the same version as the earlier
        /// ones.
        mutating func begin(entityTag tag: String) -> Bool {
            if byteCount == 0 { entityTag = tag }
            return entityTag == tag
        }

        fileprivate var canBeGoneOnWith: Bool { byteCount == 0 || entityTag != nil }
    }

    private let retries: Retries
    private let worthwhileByteCount: Int64
    private let arrived: () -> ResumedRange
    private let restart: (() async throws -> Void)?

    /// - Parameters:
    ///   - worthwhileByteCount: an attempt that gets this many bytes further than all earlier ones resets the count of
    ///     failures.
    ///   - arrived: returns the bytes received so far.
    ///   - restart: discards the received bytes to start over at the first one. Nil if they were passed on already.
    ///     Then an error is final once there are bytes of an unknown version.
    package init(
        _ retries: Retries, worthwhileByteCount: Int64 = .max, arrived: @escaping () -> ResumedRange,
        restart: (() async throws -> Void)? = nil
    ) {
        self.retries = retries
        self.worthwhileByteCount = worthwhileByteCount
        self.arrived = arrived
        self.restart = restart
    }

    /// Retries until an attempt succeeds.
    ///
    /// - Parameter attempt: requests the rest of the object with ``DownloadRequest/rest(after:end:)``.
    /// - Throws: the error of the last attempt, or the first one that a retry cannot fix.
    package func run<Result>(_ attempt: (ResumedRange) async throws -> Result) async throws -> Result {
        // The number of consecutive attempts that made almost no progress.
        var failures = 0
        var furthest: Int64 = 0
        while true {
            let before = arrived()
            do {
                return try await attempt(before)
            } catch {
                let after = arrived()
                let isWorthwhile = after.byteCount - max(before.byteCount, furthest) >= worthwhileByteCount
                failures = isWorthwhile ? 0 : failures + 1
                furthest = max(furthest, after.byteCount)
                if !after.canBeGoneOnWith, restart == nil { throw error }
                try await retries.wait(afterFailures: failures, error)
                if !after.canBeGoneOnWith { try await restart?() }
            }
        }
    }
}

extension DownloadRequest {
    /// Returns the request for the bytes that are still missing.
    ///
    /// - Parameter end: the end of the object, for a request without a range.
    package func rest(after arrived: ResumingDownload.ResumedRange, end: Int64 = .max) -> DownloadRequest {
        if arrived.byteCount == 0 { return self }
        let position = (range?.lowerBound ?? 0) + arrived.byteCount
        return DownloadRequest(
            key, range: position..<max(position, range?.upperBound ?? end), entityTag: arrived.entityTag)
    }
}
