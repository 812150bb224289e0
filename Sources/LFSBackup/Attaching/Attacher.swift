import Foundation
import GRDB
import LFS
import LFSDatabase
import LFSSystem
import Synchronization

/// Attaches what is new or changed: bytes first, several originals beside each other; then one transaction for a batch.
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

    /// Attaches those of which more is to be known, as many as go into one transaction.
    private func attach(portion: [Asset]) async throws {
        let host = host
        let known = try await database.read { try KnownAssets(portion, host, $0) }
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
                if try await !isSound(file, unsound) { unsound.insert(file.id) }
                let isUnchanged = row.stamp == asset.stamp.text
                if asset.stamp.hasContent(of: row.stamp), isConsistent, !unsound.contains(file.id) {
                    if isUnchanged { tell(.unchanged(asset)) } else { touched.append((row, asset, file)) }
                } else {
                    tell(.found(asset))
                    // An original that has not changed has the bytes that were lost.
                    let isWanted = isUnchanged && unsound.contains(file.id)
                    waiting.append(Waiting(asset: asset, wanted: isWanted ? file : nil))
                }
            }
        }
        let seen = touched
        try await writingRows { try await note(seen) }
        try await takeIn(waiting, unsound)
    }

    /// Notes how originals look that need not be read.
    private func note(_ touched: [(row: SourceRow, asset: Asset, file: FileData)]) async throws {
        if touched.isEmpty { return }
        let host = host
        try await database.write { db in
            let now = try SourceTable.rows(touched.map(\.row.id), db)
            for (row, asset, file) in touched {
                // Another backup may have read it since we looked.
                guard var row = now[row.id], row.fileID == file.id, row.state == .attached else { continue }
                row.stamp = asset.stamp.text
                try SourceTable.save(row, db)
                try host.touch?(asset, asset.stamp, file, db)
            }
        }
        for touched in touched { tell(.touched(touched.asset)) }
    }

    /// Whether the bytes of a file are where they have to be. If not, the original has them.
    private func isSound(_ file: FileData, _ unsound: Set<FileData.ID>) async throws -> Bool {
        if unsound.contains(file.id) { return false }
        if file.status == .remote { return true }
        return try await lfs.hasLocalCopy(of: file.id)
    }

    private struct Waiting: Sendable {
        var asset: Asset
        /// The file that wants these bytes back.
        var wanted: FileData?
    }

    // MARK: Room

    /// Takes in as many at once as there is room for. One that gets none is told, and the others go on.
    private func takeIn(_ waiting: [Waiting], _ unsound: Set<FileData.ID>) async throws {
        guard let room = options.room else {
            return try await commit(try await makeFiles(waiting), replacing: unsound)
        }
        // How many are tried at once, and how often the first one was tried by itself in vain.
        var (rest, limit, tries) = (waiting[...], waiting.count, 0)
        while let first = rest.first {
            try Task.checkCancellation()
            // What a file gets back is told at once, so it is not tried together with others.
            let next = first.wanted == nil ? rest.prefix(limit).prefix { $0.wanted == nil } : rest.prefix(1)
            let sizes = next.map(\.asset.dataByteCount)
            switch try await room.ask(sizes, tries > 0) {
            case .take(let count):
                let portion = next.prefix(max(count, 1))
                do {
                    try await commit(try await makeFiles(Array(portion)), replacing: unsound)
                    rest.removeFirst(portion.count)
                    (limit, tries) = (max(limit, portion.count * 2), 0)
                } catch let error where error.isForWantOfSpace {
                    limit = max(portion.count / 2, 1)
                    if portion.count > 1 { continue }
                    tries += 1
                    guard tries == BackupRoom.mostTries else { continue }
                    tell(.failed(rest.removeFirst().asset.id, "\(error)"))
                    tries = 0
                }
            case .refuse(let reason):
                tell(.failed(rest.removeFirst().asset.id, reason))
                tries = 0
            }
        }
    }

    /// Does what takes room for rows alone, and once more where something could be freed for it.
    private func writingRows(_ body: () async throws -> Void) async throws {
        guard let room = options.room else { return try await body() }
        for _ in 0..<BackupRoom.mostTries {
            do {
                return try await body()
            } catch let error where error.isForWantOfSpace {
                guard case .take = try await room.ask([0], true) else { throw error }
            }
        }
        try await body()
    }

    // MARK: Bytes

    /// Makes the bytes of a batch durable. When the place for them fails, the others are given up as well.
    private func makeFiles(_ waiting: [Waiting]) async throws -> [MadeAsset] {
        var new: [Asset] = []
        for waiting in waiting {
            if let file = waiting.wanted, try await restore(file, waiting.asset) { continue }
            new.append(waiting.asset)
        }
        let opened = try await open(new)
        let sources = opened.map { $0.content.source.named($0.asset.name, contentType: $0.asset.contentType) }
        let files = try await lfs.makeFiles(from: sources) { [tell] in tell(.read($0)) }
        var made: [MadeAsset] = []
        for (opened, file) in zip(opened, files) {
            if let file = try await check(file, opened) { made.append(file) }
        }
        return made
    }

    private struct Opened: Sendable {
        var asset: Asset
        var content: OpenedAsset
    }

    /// Those that can be opened; the others are told.
    private func open(_ assets: [Asset]) async throws -> [Opened] {
        let (source, tell) = (source, tell)
        return try await BlockingPool.shared.run { _ in
            try assets.compactMap { asset in
                do {
                    return Opened(asset: asset, content: try source.open(asset))
                } catch let error as BackupError where error.code == .unreadable {
                    tell(.unreadable(asset.id, error.message))
                    return nil
                }
            }
        }
    }

    /// Gives a file its bytes back. False when the original has others, so that it is a new version after all.
    private func restore(_ file: FileData, _ asset: Asset) async throws -> Bool {
        // One that cannot be opened is told when a file is to be made of it.
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

    /// Nil when the original itself is at fault; that is told.
    private func check(_ file: Result<FileData, LFSError>, _ opened: Opened) async throws -> MadeAsset? {
        switch file {
        case .success(let file):
            let (content, asset) = (opened.content, opened.asset)
            let isWhole = content.stamp.byteCount.map { $0 == file.byteCount } ?? true
            let now = try await BlockingPool.shared.run { _ in content.currentStamp() }
            if isWhole, now == content.stamp { return MadeAsset(asset: asset, file: file, stamp: content.stamp) }
            try await lfs.discard(file)
            if now == content.stamp, let size = content.stamp.byteCount {
                // Such as the files of /sys.
                tell(.failed(asset.id, "its size is \(size) bytes, and \(file.byteCount) could be read"))
            } else {
                tell(.failed(asset.id, Self.changed))
            }
        case .failure(let error):
            tell(.failed(opened.asset.id, error.code == .sourceChanged ? Self.changed : error.message))
        }
        return nil
    }

    private static var changed: String {
        "it changed while it was read; back it up again when nothing writes to it"
    }

    // MARK: Rows

    /// One transaction for the whole batch: each original with its file.
    ///
    /// - Parameter unsound: files whose bytes are lost or damaged, so that an equal one is not kept.
    private func commit(_ made: [MadeAsset], replacing unsound: Set<FileData.ID>) async throws {
        if made.isEmpty { return }
        let writer = AttachmentWriter(
            lfs: lfs, host: host, unsound: unsound, sendsDeclined: options.sendsDeclined,
            reusesFiles: options.reusesFiles, delay: options.boundedDelay,
            now: options.wallClock().millisecondsSince1970)
        let results: [AttachmentWriter.Outcome]
        do {
            results = try await database.write { db in try writer.write(made, db) }
        } catch {
            await discard(made)
            throw error
        }
        await discard(zip(made, results).filter { !$1.keepsBytes }.map(\.0))
        for (made, result) in zip(made, results) { tell(result.event(made.asset)) }
    }

    /// Gives up bytes that no record needs. Whatever stays is swept by the next opening.
    private func discard(_ made: [MadeAsset]) async {
        for made in made {
            do {
                try await lfs.discard(made.file)
            } catch let error as LFSError where error.code == .notUploaded {
                // The commit has happened after all.
            } catch {
                tell(.left(made.asset.id, "\(error)"))
            }
        }
    }
}

extension Error {
    /// Whether the disk that holds the bytes or the database is full.
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
    var stamp: AssetStamp
}

/// Turns the running count of one file into steps for the sum of all.
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
