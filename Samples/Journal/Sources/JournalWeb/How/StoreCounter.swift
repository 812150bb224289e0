import Foundation
import GRDB
import JournalStorage
import LFS
import Logging
import Synchronization

/// The numbers of files and bytes in the database and on the disk.
struct StoreCounts: Hashable, Sendable {
    var queued = FileAmount()
    var remote = FileAmount()
    /// The local copies.
    var copies = FileAmount()
    /// The local copies whose bytes are not confirmed by the storage.
    var unproven = FileAmount()
    var staging = FileAmount()
}

/// A counter of the files of a journal. It counts a small store for each page, and a large one at most once in an
/// interval, since a count reads the whole store.
final class StoreCounter: Sendable {
    private let interval: Duration
    private let now: @Sendable () -> ContinuousClock.Instant
    private let read: @Sendable () async throws -> StoreCounts
    private let turns = KeyedMutex(1)
    private let last = Mutex<(counts: StoreCounts, at: ContinuousClock.Instant)?>(nil)

    /// The number of files that are counted for each page.
    static let maxSmall = 1_000

    init(
        interval: Duration = .seconds(5), now: @escaping @Sendable () -> ContinuousClock.Instant = { .now },
        read: @escaping @Sendable () async throws -> StoreCounts
    ) {
        self.interval = interval
        self.now = now
        self.read = read
    }

    convenience init(_ journal: DatabaseStorageService, logger: Logger) {
        self.init {
            var counts = try await journal.database.read { db in try StoreCounts(db) }
            let report = try await journal.lfs.previewEviction(EvictionPolicy())
            counts.copies = FileAmount(report.staying)
            for reason in [StayReason.notUploaded, .orphaned] {
                guard let amount = report.stays[reason] else { continue }
                counts.unproven.files += amount.files
                counts.unproven.byteCount &+= amount.byteCount
            }
            counts.staging = await StoreCounts.staging(journal, logger: logger)
            return counts
        }
    }

    /// Returns the counts. Concurrent calls share one count of a large store.
    ///
    /// - Throws: The errors of the database and of LFS.
    func counts() async throws -> StoreCounts {
        try await turns.run {
            if let last = last.withLock({ $0 }), last.counts.isLarge, now() < last.at + interval { return last.counts }
            let counts = try await read()
            let time = now()
            last.withLock { $0 = (counts, time) }
            return counts
        }
    }
}

extension StoreCounts {
    fileprivate var isLarge: Bool { max(copies.files, queued.files, remote.files) > StoreCounter.maxSmall }

    fileprivate init(_ db: Database) throws {
        let uploads = Upload.all().queued()
        queued = FileAmount(
            files: try uploads.fetchCount(db), byteCount: try Self.sum(uploads, of: Upload.Columns.byteCount, db))
        let files = FileData.all().offloaded()
        remote = FileAmount(
            files: try files.fetchCount(db), byteCount: try Self.sum(files, of: FileData.Columns.byteCount, db))
    }

    /// Returns a sum. `total` does not fail when invalid rows make the sum too large for an integer.
    private static func sum<Row>(
        _ request: QueryInterfaceRequest<Row>, of column: Column, _ db: Database
    ) throws -> Int64 {
        let total = try Double.fetchOne(db, request.select(SQL("total(\(column))").sqlExpression)) ?? 0
        return Int64(min(max(total, 0), 9e18))
    }

    /// Returns the number and the size of the files in the staging folder (`OnDiskLayout.md`).
    @concurrent fileprivate static func staging(_ journal: DatabaseStorageService, logger: Logger) async -> FileAmount {
        guard let pool = journal.database as? DatabasePool else { return FileAmount() }
        let folder = URL(filePath: pool.path + ".lfs/temporary", directoryHint: .isDirectory)
        var amount = FileAmount()
        do {
            let files = try FileManager.default.contentsOfDirectory(
                at: folder, includingPropertiesForKeys: [.fileSizeKey])
            for file in files where FileID(file.lastPathComponent) != nil {
                amount.add(Int64(try file.resourceValues(forKeys: [.fileSizeKey]).fileSize ?? 0))
            }
        } catch {
            // A file may be moved while the folder is read, and the next look shows the rest.
            logger.debug("The staging folder changed during a look.", metadata: ["error": "\(error)"])
        }
        return amount
    }
}
