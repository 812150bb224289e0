/// Goes on with a download after a cut: with the bytes that came, and only while the object is the version that they
/// are of. Bytes of two versions, or of a version that nobody can name, are never put together.
package struct ResumingDownload {
    /// The bytes that are here.
    package struct Arrived: Sendable {
        package var byteCount: Int64
        /// The version that they are of; nil when nobody can tell.
        package var entityTag: String?

        package init(byteCount: Int64, entityTag: String?) {
            self.byteCount = byteCount
            self.entityTag = entityTag
        }

        /// Hears which version the bytes that come next are of. Returns whether they go with those that are here.
        mutating func begin(entityTag tag: String) -> Bool {
            if byteCount == 0 { entityTag = tag }
            return entityTag == tag
        }

        fileprivate var canBeGoneOnWith: Bool { byteCount == 0 || entityTag != nil }
    }

    private let retries: Retries
    private let worthwhileByteCount: Int64
    private let arrived: () -> Arrived
    private let restart: (() async throws -> Void)?

    /// - Parameters:
    ///   - worthwhileByteCount: a try that brings this many bytes more than any before it is no failure that counts.
    ///   - arrived: tells what is here.
    ///   - restart: lets go of what is here, to begin again at the first byte. Nil when it has been passed on: then an
    ///     error is final once there are bytes of a version that nobody can name.
    package init(
        _ retries: Retries, worthwhileByteCount: Int64 = .max, arrived: @escaping () -> Arrived,
        restart: (() async throws -> Void)? = nil
    ) {
        self.retries = retries
        self.worthwhileByteCount = worthwhileByteCount
        self.arrived = arrived
        self.restart = restart
    }

    /// Tries until one try succeeds.
    ///
    /// - Parameter attempt: asks the storage for ``DownloadRequest/rest(after:end:)`` of what is here.
    /// - Throws: the error of the last try, or the first one that trying again cannot mend.
    package func run<Result>(_ attempt: (Arrived) async throws -> Result) async throws -> Result {
        // Tries in a row that brought next to nothing.
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
    /// What is left to ask for when some of it is here.
    ///
    /// - Parameter end: where the object ends, for a request without a range.
    package func rest(after arrived: ResumingDownload.Arrived, end: Int64 = .max) -> DownloadRequest {
        if arrived.byteCount == 0 { return self }
        let position = (range?.lowerBound ?? 0) + arrived.byteCount
        return DownloadRequest(
            key, range: position..<max(position, range?.upperBound ?? end), entityTag: arrived.entityTag)
    }
}
