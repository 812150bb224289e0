import Foundation
import LFSDatabase
import LFSFiles
import LFSSystem

/// Evictions that the app requests: of one copy, by a policy, or of all copies that may be evicted.
struct LocalCopies: Sendable {
    typealias OnCopy = @Sendable (EvictedCopy) async throws -> Void

    let runner: BackgroundRunner
    let places: FileLocations
    let uses: AccessLog
    let readBack: ObjectVerifier
    let calls: ActiveCalls
    let wallClock: @Sendable () -> Date

    func evict(_ id: FileID) async throws {
        try await run {
            // For a named file only those rules apply that hold under every policy.
            switch try await remover.remove([id: 0], policy: EvictionPolicy(), passesUsed: false)[id] ?? nil {
            case nil: return
            case .orphaned: throw LFSError.unknown(id)
            case .pinned:
                throw LFSError(
                    .pinned, message: "The file is pinned. Unpin it before its local copy is evicted.", fileID: id)
            case .unproven:
                // Another process has just evicted the copy, so no space is left to free.
                let places = places
                guard try await BlockingPool.shared.run({ _ in try places.contains(id) }) else { return }
                throw LFSError(
                    .notUploaded,
                    message:
                        "The storage confirms only the size of this file, and its bytes could not be read back.",
                    fileID: id)
            default:
                throw LFSError(
                    .notUploaded,
                    message: "The upload of this file is not confirmed yet, and these are its only bytes.",
                    fileID: id)
            }
        }
    }

    func evict(_ policy: EvictionPolicy, isPreview: Bool, onCopy: @escaping OnCopy) async throws -> EvictionReport {
        try await run { try await evictionRun(policy, isPreview: isPreview, onCopy: onCopy).run() }
    }

    func evictAll() async throws -> EvictionReport {
        try await run {
            var report = try await evictionRun(EvictionPolicy(maxByteCount: 0), isPreview: false) { _ in }.run()
            let store = places.store
            report.unfinishedByteCount = try await BlockingPool.shared.run { _ in try store.clearUnfinished() }
            return report
        }
    }

    private var remover: CopyRemover {
        CopyRemover(runner: runner, places: places, readBack: readBack, wallClock: wallClock)
    }

    private func evictionRun(_ policy: EvictionPolicy, isPreview: Bool, onCopy: @escaping OnCopy) -> EvictionRun {
        EvictionRun(
            runner: runner, places: places, uses: uses, remover: remover, policy: policy, isPreview: isPreview,
            onCopy: onCopy)
    }

    private func run<Result: Sendable>(_ body: @escaping @Sendable () async throws -> Result) async throws -> Result {
        do {
            return try await calls.run("evict local copies", body)
        } catch let error as SystemError {
            throw FileError.keeping(error, at: places.store.path)
        }
    }
}
