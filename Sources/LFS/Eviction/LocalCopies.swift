import Foundation
import LFSDatabase
import LFSFiles
import LFSSystem

/// Evicts local copies when the app asks for it: one, those that a policy names, or all that may go.
struct LocalCopies: Sendable {
    typealias OnCopy = @Sendable (EvictedCopy) async throws -> Void

    let runner: BackgroundRunner
    let places: FilePlaces
    let uses: UseLog
    let readBack: ReadBack
    let calls: Calls
    let wallClock: @Sendable () -> Date

    func evict(_ id: FileID) async throws {
        try await run {
            // Only what every policy keeps is kept from a caller who names the file.
            switch try await remover.remove([id: 0], EvictionPolicy(), passesUsed: false)[id] ?? nil {
            case nil: return
            case .orphaned: throw LFSError.unknown(id)
            case .pinned:
                throw LFSError(.pinned, "The file is pinned. Unpin it before its local copy is evicted.", fileID: id)
            case .unproven:
                // Evicted by another process at this moment: nothing is left to free.
                let places = places
                guard try await BlockingPool.shared.run({ _ in try places.contains(id) }) else { return }
                throw LFSError(
                    .notUploaded,
                    "The storage vouches for the number of its bytes alone, and they could not be read back now.",
                    fileID: id)
            default:
                throw LFSError(
                    .notUploaded, "The upload of this file is not proven yet, and these are its only bytes.",
                    fileID: id)
            }
        }
    }

    func evict(_ policy: EvictionPolicy, isPreview: Bool, _ onCopy: @escaping OnCopy) async throws -> EvictionReport {
        try await run { try await evictionRun(policy, isPreview: isPreview, onCopy).run() }
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

    private func evictionRun(_ policy: EvictionPolicy, isPreview: Bool, _ onCopy: @escaping OnCopy) -> EvictionRun {
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
