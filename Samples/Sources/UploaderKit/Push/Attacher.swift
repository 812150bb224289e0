import Foundation
import GRDB
import LFS
import Synchronization

/// Attaches what is new or changed: bytes first, several files beside each other; then one transaction for a batch.
struct Attacher: Sendable {
    let database: any DatabaseWriter
    let table: DocumentTable
    let lfs: LFSManager
    let report: Report
    /// What this run writes to itself.
    let excluded: [String]
    /// Files whose local bytes are not the recorded ones any more.
    let damaged: Set<FileData.ID>

    private static let batchFiles = 256
    private static let batchBytes: Int64 = 64 * 1_024 * 1_024

    /// Works through the paths. Returns when every file that could be read is attached.
    ///
    /// - Throws: when the place for the bytes or the database fails, so that going on makes no sense.
    func run(_ paths: [String]) async throws {
        var walk = FileWalk(paths, from: FileManager.default.currentDirectoryPath, excluding: excluded)
        while true {
            try Task.checkCancellation()
            let batch = nextBatch(&walk)
            if batch.isEmpty { return report.walkEnded() }
            try await attach(batch)
        }
    }

    private func nextBatch(_ walk: inout FileWalk) -> [FileWalk.Candidate] {
        var batch: [FileWalk.Candidate] = []
        var bytes: Int64 = 0
        var paths: Set<FilePath> = []
        while batch.count < Self.batchFiles, bytes < Self.batchBytes, let item = walk.next() {
            switch item {
            case .file(let candidate):
                // A file can be given twice, by itself and in its folder.
                guard paths.insert(candidate.path).inserted else { continue }
                batch.append(candidate)
                bytes += candidate.stamp.byteCount
            case .unreadable(let path, let reason): report.unreadable(path, reason)
            case .notAFile(let path, let reason): report.passedOver(path, reason)
            }
        }
        return batch
    }

    private func attach(_ batch: [FileWalk.Candidate]) async throws {
        let paths = batch.map(\.path)
        let known = try await database.read { db in try table.documents(at: paths, ofKeys: lfs.keyPrefix, db) }
        var waiting: [Waiting] = []
        var unsound: Set<FileData.ID> = []
        for candidate in batch {
            var attached: AttachedDocument?
            switch known[candidate.path] {
            case nil: break
            case .success(let known): attached = known
            case .failure(let row):
                report.failed(candidate.path, row.reason)
                continue
            }
            if let file = attached?.file, try await !isSound(file) { unsound.insert(file.id) }
            let isUnchanged = attached?.document.stamp == candidate.stamp.text
            if let attached, isUnchanged, !unsound.contains(attached.file.id) {
                report.unchanged(candidate.path)
            } else {
                report.found(candidate.stamp.byteCount)
                // An original that has not changed has the bytes that were lost.
                waiting.append(Waiting(candidate: candidate, wanted: isUnchanged ? attached?.file : nil))
            }
        }
        try await commit(try await makeFiles(waiting), replacing: unsound)
    }

    /// Whether the bytes of a file are where they have to be. If not, pushing it again mends it.
    private func isSound(_ file: FileData) async throws -> Bool {
        if damaged.contains(file.id) { return false }
        if file.status == .remote { return true }
        return try await lfs.hasLocalCopy(of: file.id)
    }

    private struct Waiting: Sendable {
        var candidate: FileWalk.Candidate
        /// The file that wants these bytes back.
        var wanted: FileData?
    }

    private struct Made: Sendable {
        var candidate: FileWalk.Candidate
        var file: FileData
        var stamp: String
    }

    /// Makes the bytes of a batch durable. When the place for them fails, the others are given up as well.
    private func makeFiles(_ waiting: [Waiting]) async throws -> [Made] {
        var new: [FileWalk.Candidate] = []
        for waiting in waiting {
            if let file = waiting.wanted, try await restore(file, waiting.candidate) { continue }
            new.append(waiting.candidate)
        }
        let sources = new.compactMap(open)
        let files = try await lfs.makeFiles(from: sources.map(\.source), onProgress: report.read)
        var made: [Made] = []
        for (source, file) in zip(sources, files) {
            if let file = try await check(file, source) { made.append(file) }
        }
        return made
    }

    /// Gives a file its bytes back. False when the original has others, so that it is a new version after all.
    private func restore(_ file: FileData, _ candidate: FileWalk.Candidate) async throws -> Bool {
        guard case .success(let source) = SourceHandle.open(candidate.path, followsLink: candidate.followsLink) else {
            return false  // making a file of it says why
        }
        do {
            let meter = ReadMeter(report)
            try await lfs.restore(file.id, from: .handle(source.handle), onProgress: meter.add)
            report.restored(file, candidate.path)
            return true
        } catch let error as LFSError
            where [.sourceChanged, .sourceFailed, .unknownFile].contains(error.code)
        {
            return false
        }
    }

    private struct Opened {
        var candidate: FileWalk.Candidate
        var source: FileSource
        var stamp: FileStamp
    }

    /// Nil when it cannot be opened; that is reported.
    private func open(_ candidate: FileWalk.Candidate) -> Opened? {
        switch SourceHandle.open(candidate.path, followsLink: candidate.followsLink) {
        case .failure(let error):
            report.unreadable(candidate.path, error.description)
            return nil
        case .success(let source):
            let name = candidate.title.lastComponent.text ?? candidate.title.lastComponent.description
            return Opened(
                candidate: candidate, source: .handle(source.handle).named(name), stamp: source.stamp)
        }
    }

    /// Nil when the file itself is at fault; that is reported.
    private func check(_ file: Result<FileData, LFSError>, _ source: Opened) async throws -> Made? {
        switch file {
        case .success(let file) where file.byteCount == source.stamp.byteCount:
            return Made(candidate: source.candidate, file: file, stamp: source.stamp.text)
        case .success(let file):
            try await lfs.discard(file)
            report.failed(
                source.candidate.path, "it changed while it was read; push it again when nothing writes to it")
        case .failure(let error): report.failed(source.candidate.path, error.message)
        }
        return nil
    }

    /// One transaction for the whole batch: each document with its file, and what it replaces goes.
    ///
    /// - Parameter unsound: files whose bytes are lost or damaged, so that an equal one is not kept.
    private func commit(_ made: [Made], replacing unsound: Set<FileData.ID>) async throws {
        let now = Date()
        let unneeded: Set<FileData.ID>
        do {
            unneeded = try await database.write { db in
                // Read here, because another push may have attached the same files since we looked.
                let known = try table.documents(at: made.map(\.candidate.path), ofKeys: lfs.keyPrefix, db)
                var unneeded: Set<FileData.ID> = []
                for made in made {
                    let old = try known[made.candidate.path]?.get()
                    if let old, old.file.sha256 == made.file.sha256, !unsound.contains(old.file.id) {
                        try Self.restamp(made, old.document, db)
                        unneeded.insert(made.file.id)
                    } else {
                        try Self.attach(made, at: now, in: old, db)
                    }
                }
                return unneeded
            }
        } catch {
            await discard(made)
            throw error
        }
        await discard(made.filter { unneeded.contains($0.file.id) })
        for made in made {
            if unneeded.contains(made.file.id) {
                report.unchanged(made.candidate.path)
            } else {
                report.attached(made.file, made.candidate.path)
            }
        }
    }

    /// A document that is there gets its new file, and the old one goes once the new one is on the storage.
    private static func attach(_ made: Made, at time: Date, in old: AttachedDocument?, _ db: Database) throws {
        try made.file.insert(db)
        let document = Document(
            id: old?.document.id ?? DocumentID.make(at: time), path: made.candidate.path,
            title: made.candidate.title.text ?? made.candidate.title.description, addedAt: time, fileId: made.file.id,
            stamp: made.stamp)
        guard let old else { return try document.insert(db) }
        try document.update(db)
        try ReplacedFiles.replace(old.file, of: document.id, db)
    }

    /// The file was touched, but its content is the same.
    private static func restamp(_ made: Made, _ document: Document, _ db: Database) throws {
        try db.execute(
            sql: "UPDATE uploader_document SET stamp = ? WHERE id = ?", arguments: [made.stamp, document.id])
    }

    /// Gives up bytes that no record needs. Whatever stays is swept by the next run.
    private func discard(_ made: [Made]) async {
        for file in made {
            do {
                try await lfs.discard(file.file)
            } catch {
                report.message("\(file.candidate.path): its copy stays until the next run: \(Words.of(error))")
            }
        }
    }
}

/// Turns the running count of one file into steps for the sum of all.
private final class ReadMeter: Sendable {
    private let last = Mutex<Int64>(0)
    private let report: Report

    init(_ report: Report) { self.report = report }

    func add(_ count: Int64) {
        let step = last.withLock { last in
            defer { last = count }
            return count - last
        }
        report.read(step)
    }
}
