import Foundation
import GRDB
import JournalStorage
import LFS
import LFSCache
import Logging
import ServiceLifecycle
import Synchronization

/// The thumbnails and previews of the pages, in a cache. As many are created at the same time as there are processors,
/// and each is created once even if several requests need it.
///
/// As a service it creates the thumbnails of new pictures and removes those of deleted ones. The mutex owns the list of
/// unreadable pictures.
final class Thumbnails: Service {
    private let journal: DatabaseStorageService
    private let logger: Logger
    private var lfs: LFSManager { journal.lfs }
    private let cache: MediaCache
    private let tool: ThumbnailTool
    private let events: AsyncStream<LFSEvent>
    private let turns = KeyedMutex(max(2, ProcessInfo.processInfo.activeProcessorCount))
    /// The number of new pictures whose thumbnails are not made yet.
    private let coming = Mutex(0)
    /// The pictures that the tool could not read, until the next start.
    private let failed = Mutex<Set<CacheKey>>([])

    /// The number of failures after which the list is emptied.
    private static let maxFailed = 10_000

    /// The largest number of new pictures that wait for a thumbnail. Those of others are made when they are seen.
    private static let maxComing = 1_000

    init(_ journal: DatabaseStorageService, cache: MediaCache, tool: ThumbnailTool, logger: Logger) {
        self.journal = journal
        self.cache = cache
        self.tool = tool
        self.logger = logger
        events = journal.lfs.events()
    }

    /// Returns the thumbnail of a file. Nil if it cannot be created, or if the bytes of the file are not available yet.
    ///
    /// - Throws: `LFSError` if the file itself cannot be read, `CancellationError`.
    func data(of file: FileData, _ size: SmallSize = .thumbnail) async throws -> Data? {
        let key = CacheKey(size.kind, name: "\(file.id)/\(size.edge)")
        return try await data(of: file, size, key: key, tags: [Self.tag(file.id)])
    }

    /// Returns the cover of an album that begins with a file. Nil as for ``data(of:_:)``.
    ///
    /// - Throws: The errors of ``data(of:_:)``.
    func cover(of file: FileData, album: UUID) async throws -> Data? {
        let key = CacheKey(SmallSize.cover.kind, name: "\(album)/\(file.id)/\(SmallSize.cover.edge)")
        return try await data(of: file, .cover, key: key, tags: [Self.tag(file.id), Self.tag(album: album)])
    }

    private func data(of file: FileData, _ size: SmallSize, key: CacheKey, tags: Set<CacheTag>) async throws -> Data? {
        if failed.withLock({ $0.contains(key) }) { return nil }
        do {
            return try await cache.content(for: key, tags: tags) {
                try await turns.run { try await make(file, size: size) }
            }
        } catch is ThumbnailError {
            note(key)
            return nil
        } catch is NotHere {
            return nil
        }
    }

    private func make(_ file: FileData, size: SmallSize) async throws -> Data {
        // The request may have been cancelled while it waited for its turn.
        try Task.checkCancellation()
        // The first bytes determine whether the tool may read the file.
        guard try await PictureType.of(file, in: lfs) != nil, let source = try await lfs.localURL(of: file) else {
            throw NotHere()
        }
        let data = try await tool.data(of: source, edge: size.edge)
        if size == .thumbnail { await saveLook(of: file, thumbnail: data) }
        return data
    }

    /// Stores the look of a picture. Without it, the page shows a gray placeholder of an ordinary shape.
    private func saveLook(of file: FileData, thumbnail: Data) async {
        do {
            try await journal.saveLook(try await tool.look(of: thumbnail), of: file.id)
        } catch {
            logger.notice("A picture has no colored placeholder.", metadata: ["error": "\(error)"])
        }
    }

    private func note(_ key: CacheKey) {
        failed.withLock { failed in
            if failed.count >= Self.maxFailed { failed = [] }
            failed.insert(key)
        }
    }

    /// Forgets the pictures that the tool could not read, so that it tries again.
    func forgetFailures() { failed.withLock { $0 = [] } }

    /// Removes the cover of an album that was changed or deleted. After a failure, the limits remove it later.
    func removeCover(ofAlbum album: UUID) async {
        do {
            try await cache.invalidate(Self.tag(album: album))
        } catch {
            logger.debug("The cover of an album is removed later.", metadata: ["error": "\(error)"])
        }
    }

    // MARK: New and deleted pictures

    /// Creates the thumbnails of new pictures and removes those of deleted ones until the service group stops.
    func run() async throws {
        try await withThrowingDiscardingTaskGroup { group in
            for await event in events.cancelOnGracefulShutdown() {
                switch event {
                case .queued(let id): if enter() { group.addTask { await self.prepare(id) } }
                case .removed(let id):
                    // After a failure of the disk or with a closed cache, the limits remove the entry later.
                    _ = try? await cache.invalidate(Self.tag(id))
                default: break
                }
            }
            group.cancelAll()
        }
    }

    private func enter() -> Bool {
        coming.withLock { count in
            guard count < Self.maxComing else { return false }
            count += 1
            return true
        }
    }

    /// Creates the thumbnail of a new picture. After a failure, the first page that shows the picture tries again.
    private func prepare(_ id: FileID) async {
        defer { coming.withLock { $0 -= 1 } }
        do {
            guard let file = try await journal.database.read({ db in try FileData.fetchOne(db, key: id) }) else {
                return
            }
            _ = try await data(of: file)
        } catch {
            logger.debug("A thumbnail is made later.", metadata: ["error": "\(error)"])
        }
    }

    static func tag(_ file: FileID) -> CacheTag { .asset("\(file)") }

    static func tag(album: UUID) -> CacheTag { .album(album.text) }

    /// An error for a file whose bytes are not available yet, or which is not a picture.
    private struct NotHere: Error {}
}
