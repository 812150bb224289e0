import Foundation
import JournalStorage
import LFS
import LFSCache
import ServiceLifecycle
import Synchronization

/// The small pictures of the page, in a cache: two are made at a time, each once, however many ask for it.
///
/// As a service it takes those of deleted pictures out. Owner of the notes of what cannot be read: the mutex.
final class Thumbnails: Service {
    private let lfs: LFSManager
    private let cache: MediaCache
    private let tool: ThumbnailTool
    private let events: AsyncStream<LFSEvent>
    private let turns = Turns(2)
    /// What the tool could not read, until the next start.
    private let failed = Mutex<Set<CacheKey>>([])

    /// How many failures are noted before they are forgotten.
    private static let maxFailed = 10_000

    init(lfs: LFSManager, cache: MediaCache, tool: ThumbnailTool) {
        (self.lfs, self.cache, self.tool) = (lfs, cache, tool)
        events = lfs.events()
    }

    /// The small picture of a file; nil when there can be none, or its bytes are not here yet.
    ///
    /// - Throws: `LFSError` when the file itself cannot be had, `CancellationError`.
    func data(of file: FileData, _ size: SmallSize = .thumbnail) async throws -> Data? {
        let key = CacheKey(size.kind, "\(file.id)/\(size.edge)")
        if failed.withLock({ $0.contains(key) }) { return nil }
        do {
            return try await cache.content(for: key, tags: [Self.tag(file.id)]) {
                try await turns.run { try await make(file, size) }
            }
        } catch is ThumbnailError {
            note(key)
            return nil
        } catch is NotHere {
            return nil
        }
    }

    private func make(_ file: FileData, _ size: SmallSize) async throws -> Data {
        // Whoever has asked may have gone while it waited for its turn.
        try Task.checkCancellation()
        // The first bytes tell whether the tool may see it at all.
        guard try await PictureType.of(file, in: lfs) != nil, let source = try await lfs.localURL(of: file) else {
            throw NotHere()
        }
        return try await tool.data(of: source, edge: size.edge)
    }

    private func note(_ key: CacheKey) {
        failed.withLock { failed in
            if failed.count >= Self.maxFailed { failed = [] }
            failed.insert(key)
        }
    }

    // MARK: Deleted pictures

    /// Takes out what was made of pictures that are deleted, until the group stops.
    func run() async throws {
        for await event in events.cancelOnGracefulShutdown() {
            guard case .removed(let id) = event else { continue }
            // With a disk that fails, or a cache that is closed, the limits take it out in time.
            _ = try? await cache.invalidate(Self.tag(id))
        }
    }

    static func tag(_ file: FileID) -> CacheTag { .asset("\(file)") }

    /// There is no picture to make a small one of, by now.
    private struct NotHere: Error {}
}
