import Foundation
import GRDB
import LFS
import Synchronization

/// Attaches what is new or changed: bytes first, several files beside each other; then one transaction for a batch.
struct Attacher: Sendable {
    let database: any DatabaseWriter
    let lfs: LFSManager
    let report: Report
    /// What this run writes to itself.
    let excluded: [String]

    private static let batchFiles = 256
    private static let batchBytes: Int64 = 64 * 1_024 * 1_024
    private static let parallel = 6

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
        let known = try await database.read { db in
            try AttachedDocument.all().filter(paths.contains(Column("path"))).fetchAll(db)
        }
        let byPath = Dictionary(uniqueKeysWithValues: known.map { ($0.document.path, $0) })
        var waiting: [FileWalk.Candidate] = []
        for candidate in batch {
            if byPath[candidate.path]?.document.stamp == candidate.stamp.text {
                report.unchanged(candidate.path)
            } else {
                report.found(candidate.stamp.byteCount)
                waiting.append(candidate)
            }
        }
        let made = try await makeFiles(waiting)
        try await commit(made, byPath)
    }

    private struct Made: Sendable {
        var candidate: FileWalk.Candidate
        var file: FileData
        var stamp: String
    }

    /// Makes the bytes of a batch durable. When one fails for good, the others are given up as well.
    private func makeFiles(_ candidates: [FileWalk.Candidate]) async throws -> [Made] {
        let made = Collected<Made>()
        do {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (index, candidate) in candidates.enumerated() {
                    if index >= Self.parallel { try await group.next() }
                    group.addTask {
                        if let file = try await makeFile(candidate) { made.append(file) }
                    }
                }
                try await group.waitForAll()
            }
        } catch {
            for file in made.all { try await lfs.discard(file.file) }
            throw error
        }
        return made.all
    }

    /// Nil when the file itself is at fault; that is reported.
    private func makeFile(_ candidate: FileWalk.Candidate) async throws -> Made? {
        switch SourceHandle.open(candidate.path) {
        case .failure(let error):
            report.unreadable(candidate.path, error.description)
            return nil
        case .success(let source):
            do {
                let name = candidate.title.lastComponent.text ?? candidate.title.lastComponent.description
                let meter = ReadMeter(report)
                let file = try await lfs.makeFile(from: .handle(source.handle), name: name, onProgress: meter.add)
                guard file.byteCount == source.stamp.byteCount else {
                    try await lfs.discard(file)
                    throw LFSError(.sourceChanged, "it changed while it was read; push it again when nothing writes to it")
                }
                return Made(candidate: candidate, file: file, stamp: source.stamp.text)
            } catch let error as LFSError where error.code == .sourceChanged || error.code == .sourceFailed {
                report.failed(candidate.path, error.message)
                return nil
            }
        }
    }

    /// One transaction for the whole batch: each document with its file, and what it replaces goes.
    private func commit(_ made: [Made], _ known: [FilePath: AttachedDocument]) async throws {
        var touched: [Made] = []
        var fresh: [Made] = []
        for file in made {
            if known[file.candidate.path]?.file.sha256 == file.file.sha256 { touched.append(file) } else { fresh.append(file) }
        }
        let now = Date()
        let (newFiles, sameFiles) = (fresh, touched)
        try await database.write { db in
            for made in newFiles {
                try made.file.insert(db)
                let document = Document(
                    path: made.candidate.path, title: made.candidate.title.text ?? made.candidate.title.description,
                    addedAt: now, fileId: made.file.id, stamp: made.stamp)
                try document.upsert(db)
                if let old = known[made.candidate.path] { try old.file.delete(db) }
            }
            for made in sameFiles {
                try db.execute(
                    sql: "UPDATE document SET stamp = ? WHERE path = ?", arguments: [made.stamp, made.candidate.path])
            }
        }
        for made in touched {
            try await lfs.discard(made.file)
            report.unchanged(made.candidate.path)
        }
        for made in fresh { report.attached(made.file, made.candidate.path) }
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

/// What parallel tasks have made so far.
private final class Collected<Element: Sendable>: Sendable {
    private let elements = Mutex<[Element]>([])
    var all: [Element] { elements.withLock { $0 } }
    func append(_ element: Element) { elements.withLock { $0.append(element) } }
}
