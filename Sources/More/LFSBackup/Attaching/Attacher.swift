import Foundation
import GRDB
import LFS
import LFSDatabase
import LFSSystem
import Synchronization

/// Attaches new and changed originals. Reads the bytes of several originals concurrently, and then writes the rows of a
/// batch in one transaction.
struct Attacher<Source: AssetSource>: Sendable {
    let lfs: LFSManager
    let database: any DatabaseWriter
    let source: Source
    let host: BackupHost
    let options: BackupOptions
    let tell: @Sendable (BackupEvent) -> Void

    func attach(_ assets: UnchangedAssets) async throws {
        for asset in assets.unchanged { tell(.unchanged(asset)) }
        for portion in AssetBatch.portions(assets.others) {
            try Task.checkCancellation()
            try await attach(portion: portion)
        }
    }

    /// Looks up the originals of one transaction in detail, and attaches those that need it.
    private func attach(portion: [Asset]) async throws {
        let host = host
        let known = try await database.read { try KnownAssets(portion, host: host, $0) }
        var waiting: [Waiting] = []
        var touched: [(row: SourceRow, asset: Asset, file: FileData)] = []
        var unsound: Set<FileData.ID> = options.damaged.union(known.damaged)
        for asset in portion {
            switch known.finding(asset) {
            case .unusable(let reason): tell(.failed(asset.id, reason))
            case .declined(let row) where !options.sendsDeclined && asset.stamp.hasContent(of: row.stamp):
                tell(.declined(asset))
            case .new, .declined:
                tell(.found(asset))
                waiting.append(Waiting(asset: asset, wanted: nil))
            case .attached(let row, let file, let isConsistent):
                if try await !isSound(file, unsound: unsound) { unsound.insert(file.id) }
                let isUnchanged = row.stamp == asset.stamp.text
                if asset.stamp.hasContent(of: row.stamp), isConsistent, !unsound.contains(file.id) {
                    if isUnchanged { tell(.unchanged(asset)) } else { touched.append((row, asset, file)) }
                } else {
                    tell(.found(asset))
                    // An unchanged original still has the lost bytes.
                    let isWanted = isUnchanged && unsound.contains(file.id)
                    waiting.append(Waiting(asset: asset, wanted: isWanted ? file : nil))
                }
            }
        }
        let seen = touched
        try await writingRows { try await note(seen) }
        try await takeIn(waiting, unsound: unsound)
    }

    /// Records new stamps of originals that need no read.
    private func note(_ touched: [(row: SourceRow, asset: Asset, file: FileData)]) async throws {
        if touched.isEmpty { return }
        let host = host
        try await database.write { db in
            let now = try SourceTable.rows(touched.map(\.row.id), db)
            for (row, asset, file) in touched {
                // Another backup may have read it since the lookup.
                guard var row = now[row.id], row.fileID == file.id, row.state == .attached else { continue }
                row.stamp = asset.stamp.text
                try SourceTable.save(row, db)
                try host.touch?(asset, asset.stamp, file, db)
            }
        }
        for touched in touched { tell(.touched(touched.asset)) }
    }

    /// Returns true if the bytes of a file are stored where the database expects them. If not, the original can provide
    /// them.
    private func isSound(_ file: FileData, unsound: Set<FileData.ID>) async throws -> Bool {
        if unsound.contains(file.id) { return false }
        if file.status == .remote { return true }
        return try await lfs.hasLocalCopy(of: file.id)
    }

    private struct Waiting: Sendable {
        var asset: Asset
        /// The file whose lost or damaged bytes the original can provide.
        var wanted: FileData?
    }

    // MARK: Disk space

    /// Attaches as many originals at once as fit on the disk. An original without space is reported, and the others
    /// continue.
    private func takeIn(_ waiting: [Waiting], unsound: Set<FileData.ID>) async throws {
        guard let room = options.room else {
            return try await commit(try await makeFiles(waiting), replacing: unsound)
        }
        // The maximum number of originals per attempt, and the number of failed attempts with only the first one.
        var (rest, limit, tries) = (waiting[...], waiting.count, 0)
        while let first = rest.first {
            try Task.checkCancellation()
            // A restored file is reported at once, so it is not attempted together with others.
            let next = first.wanted == nil ? rest.prefix(limit).prefix { $0.wanted == nil } : rest.prefix(1)
            let sizes = next.map { options.copiesOriginals ? $0.asset.dataByteCount : 0 }
            switch try await room.ask(sizes, tries > 0) {
            case .take(let count):
                let portion = next.prefix(max(count, 1))
                do {
                    try await commit(try await makeFiles(Array(portion)), replacing: unsound)
                    rest.removeFirst(portion.count)
                    limit = max(limit, portion.count * 2)
                    tries = 0
                } catch let error where error.isForWantOfSpace {
                    limit = max(portion.count / 2, 1)
                    if portion.count > 1 { continue }
                    tries += 1
                    guard tries == BackupSpace.mostTries else { continue }
                    tell(.failed(rest.removeFirst().asset.id, "\(error)"))
                    tries = 0
                }
            case .refuse(let reason):
                tell(.failed(rest.removeFirst().asset.id, reason))
                tries = 0
            }
        }
    }

    /// Runs a body that needs space only for rows. If the disk is full, repeats it after the app has freed space.
    private func writingRows(_ body: () async throws -> Void) async throws {
        guard let room = options.room else { return try await body() }
        for _ in 0..<BackupSpace.mostTries {
            do {
                return try await body()
            } catch let error where error.isForWantOfSpace {
                guard case .take = try await room.ask([0], true) else { throw error }
            }
        }
        try await body()
    }

    // MARK: Bytes

    /// Makes the bytes of a batch durable. If the local store fails, none of the new files is kept.
    private func makeFiles(_ waiting: [Waiting]) async throws -> [MadeAsset] {
        var new: [Asset] = []
        for waiting in waiting {
            if let file = waiting.wanted, try await restore(file, asset: waiting.asset) { continue }
            new.append(waiting.asset)
        }
        let opened = try await open(new)
        let sources = opened.map { opened in
            let original = options.copiesOriginals ? nil : opened.content.original
            return (original ?? opened.content.source)
                .named(opened.asset.name, contentType: opened.asset.contentType)
        }
        let files = try await lfs.makeFiles(from: sources) { [tell] in tell(.read($0)) }
        // One change of threads for all, as each of them costs more than the check itself.
        let stamps = try await BlockingPool.shared.run { _ in opened.map { $0.content.currentStamp() } }
        var made: [MadeAsset] = []
        for (index, opened) in opened.enumerated() {
            if let file = try await check(files[index], opened: opened, now: stamps[index]) { made.append(file) }
        }
        return made
    }

    private struct Opened: Sendable {
        var asset: Asset
        var content: OpenedAsset
    }

    /// Opens originals. Those that cannot be opened are reported.
    private func open(_ assets: [Asset]) async throws -> [Opened] {
        let (source, tell) = (source, tell)
        return try await BlockingPool.shared.run { _ in
            try zip(assets, source.open(assets)).compactMap { asset, content in
                do {
                    return Opened(asset: asset, content: try content.get())
                } catch let error as BackupError where error.code == .unreadable {
                    tell(.unreadable(asset.id, error.message))
                    return nil
                }
            }
        }
    }

    /// Restores the bytes of a file from its original. Returns false if the original has other bytes, which are then
    /// attached as a new version.
    private func restore(_ file: FileData, asset: Asset) async throws -> Bool {
        // If it cannot be opened, the later attempt to make a file from it reports the reason.
        guard let opened = try await openQuietly(asset) else { return false }
        do {
            let meter = ReadMeter(tell)
            try await lfs.restore(file.id, from: opened.source, onProgress: meter.add)
        } catch let error as LFSError where [.sourceChanged, .sourceFailed, .unknownFile].contains(error.code) {
            return false
        }
        let row = SourceRow(
            id: asset.id.source, stamp: opened.stamp.text, byteCount: file.byteCount, sha256: file.sha256,
            fileID: file.id)
        try await database.write { db in try SourceTable.save(row, db) }
        tell(.restored(asset, file))
        return true
    }

    private func openQuietly(_ asset: Asset) async throws -> OpenedAsset? {
        let source = source
        return try await BlockingPool.shared.run { _ in
            do {
                return try source.open(asset)
            } catch let error as BackupError where error.code == .unreadable {
                return nil
            }
        }
    }

    /// Verifies that an original did not change during the read. Returns nil after it has reported a failure of the
    /// original.
    ///
    /// - Parameter now: the stamp after the read, or nil if the original no longer exists.
    private func check(
        _ file: Result<FileData, LFSError>, opened: Opened, now: AssetVersion?
    ) async throws -> MadeAsset? {
        let (content, asset) = (opened.content, opened.asset)
        switch file {
        case .success(let file):
            let isWhole = content.stamp.byteCount.map { $0 == file.byteCount } ?? true
            if isWhole, now == content.stamp { return MadeAsset(asset: asset, file: file, stamp: content.stamp) }
            try await lfs.discard(file)
            tell(.failed(asset.id, Self.change(of: content, now: now, readCount: "\(file.byteCount)")))
        case .failure(let error) where error.code == .sourceChanged:
            tell(.failed(asset.id, Self.change(of: content, now: now, readCount: "another number")))
        case .failure(let error): tell(.failed(asset.id, error.message))
        }
        return nil
    }

    /// Returns the reason why the bytes of an original are not its content.
    private static func change(of content: OpenedAsset, now: AssetVersion?, readCount: String) -> String {
        if now == content.stamp, let size = content.stamp.byteCount {
            // For example, the files of /sys.
            return "its size is \(size) bytes, but \(readCount) could be read"
        }
        return "it changed while it was read. Back it up again when no program writes to it"
    }

    // MARK: Rows

    /// Writes all originals of a batch with their files in one transaction.
    ///
    /// - Parameter unsound: files whose bytes are lost or damaged, which must not be reused for equal bytes.
    private func commit(_ made: [MadeAsset], replacing unsound: Set<FileData.ID>) async throws {
        if made.isEmpty { return }
        let writer = AttachmentWriter(
            lfs: lfs, host: host, unsound: unsound, sendsDeclined: options.sendsDeclined,
            reusesFiles: options.reusesFiles, delay: options.boundedDelay,
            now: options.wallClock().millisecondsSince1970)
        let results: [AttachmentWriter.Outcome]
        do {
            results = try await write(made, with: writer)
        } catch {
            await discard(made)
            throw error
        }
        await discard(zip(made, results).filter { !$1.keepsBytes }.map(\.0))
        for (made, result) in zip(made, results) { tell(result.event(made.asset)) }
    }

    /// Writes without savepoints at first, as an app rarely refuses an original. They cost as much as two of its rows.
    private func write(
        _ made: [MadeAsset], with writer: AttachmentWriter
    ) async throws -> [AttachmentWriter.Outcome] {
        do {
            return try await database.write { db in try writer.write(made, isolated: false, db) }
        } catch let error as BackupError where error.code == .refused {
            return try await database.write { db in try writer.write(made, isolated: true, db) }
        }
    }

    /// Discards bytes that no record refers to. Bytes that remain are removed when the database is opened again.
    private func discard(_ made: [MadeAsset]) async {
        for made in made {
            do {
                try await lfs.discard(made.file)
            } catch let error as LFSError where error.code == .notUploaded {
                // The transaction was committed after all.
            } catch {
                tell(.left(made.asset.id, "\(error)"))
            }
        }
    }
}

extension Error {
    /// True if the disk with the bytes or the database is full.
    fileprivate var isForWantOfSpace: Bool {
        switch self {
        case let error as LFSError: error.code == .noSpace
        case let error as DatabaseError: error.isNoSpace
        default: false
        }
    }
}

/// An original whose bytes are durable.
struct MadeAsset: Sendable {
    var asset: Asset
    var file: FileData
    var stamp: AssetVersion
}

/// Converts the running count of one file into increments for the total.
private final class ReadMeter: Sendable {
    private let last = Mutex<Int64>(0)
    private let tell: @Sendable (BackupEvent) -> Void

    init(_ tell: @escaping @Sendable (BackupEvent) -> Void) { self.tell = tell }

    func add(_ count: Int64) {
        let step = last.withLock { last in
            defer { last = count }
            return count - last
        }
        tell(.read(step))
    }
}
