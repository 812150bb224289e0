import Foundation
import GRDB
import LFS

/// A reader that reads objects back, starting with those whose last read is the oldest. It records each read, so an
/// interrupted run continues where it stopped, and shares of several runs together cover all objects.
struct ObjectReader: Sendable {
    let database: any DatabaseWriter
    let lfs: LFSManager
    var now: @Sendable () -> Date = { Date() }

    /// The progress, and finally the result.
    struct Progress: Sendable {
        var objects = 0
        var totalObjects = 0
        var bytes: Int64 = 0
        var totalBytes: Int64 = 0
        /// Objects that the storage did not deliver this time.
        var unread = 0
        /// Objects without a recorded read.
        var neverRead = 0
        /// The time of the oldest read. Nil if an object was never read.
        var oldest: Date?
    }

    /// The limits of one transaction. Its objects are read again after a kill.
    private static let chunk = (files: 100, bytes: Int64(64 << 20))
    /// The minimum number of objects in a request. With several objects, a single unreadable one does not look like an
    /// unavailable storage.
    private static let fewest = 4
    /// The age after which an interrupted read of all objects starts over.
    private static let validity = Duration.seconds(7 * 86_400)

    /// Reads a share of the objects, or all of them.
    ///
    /// - Parameters:
    ///   - onUnread: receives the objects that the storage did not deliver.
    ///   - onProgress: receives the progress after each chunk.
    /// - Throws: ``LFSError`` if the storage is unavailable or refuses, database errors, `CancellationError`.
    func run(
        _ share: ReadShare?, onUnread: (ObjectReading) async throws -> Void, onProgress: (Progress) -> Void
    ) async throws -> Progress {
        let start = milliseconds
        try await prepare(start)
        let since = share == nil ? try await beginAll(start) : start
        let (files, bytes) = try await database.read { db in try ReadingTable.total(before: since, db) }
        var (plan, progress) = (Plan(share, files: files, bytes: bytes), Progress())
        (progress.totalObjects, progress.totalBytes) = plan.total(files: files, bytes: bytes)
        var last: ReadingTable.Entry?
        onProgress(progress)
        while true {
            try Task.checkCancellation()
            let after = last
            let page = try await database.read { db in
                try ReadingTable.page(before: since, after: after, limit: Self.chunk.files, db)
            }
            let wanted = plan.take(Self.cut(page))
            guard let end = wanted.last else { break }
            last = end
            for reading in try await read(wanted, notBefore: start, isFirst: progress.objects == 0) {
                progress.bytes = progress.bytes.addingSaturated(reading.byteCount)
                progress.objects += [.right, .damaged].contains(reading.outcome) ? 1 : 0
                guard reading.outcome == .unread else { continue }
                progress.unread += 1
                // The unread object is also at the start of the next share, which must reach other objects as well.
                if let entry = wanted.first(where: { $0.id == reading.fileID }) { plan.giveBack(entry) }
                try await onUnread(reading)
            }
            onProgress(progress)
        }
        let isWhole = share == nil
        (progress.neverRead, progress.oldest) = try await database.write { db in
            if isWhole { try ReadingTable.setSince(nil, db) }
            let oldest = try ReadingTable.oldest(db)
            return (
                try ReadingTable.neverRead(db), oldest.map { Date(timeIntervalSince1970: Double($0) / 1_000) }
            )
        }
        return progress
    }

    /// - Parameter isFirst: true if no object was read yet, so that the storage itself may be unavailable.
    private func read(
        _ wanted: [ReadingTable.Entry], notBefore start: Int64, isFirst: Bool
    ) async throws -> [ObjectReading] {
        let readings: [ObjectReading]
        do {
            readings = try await lfs.readBack(wanted.map(\.id))
        } catch let error as LFSError where error.code == .storage && !(isFirst && wanted.count >= Self.fewest) {
            return wanted.map { ObjectReading(fileID: $0.id, outcome: .unread, byteCount: 0, reason: error.message) }
        }
        // If the clock is set back during the run, objects must not be read twice.
        let time = max(milliseconds, start)
        let ids = readings.filter { $0.outcome != .unread }.map(\.fileID)
        try await database.write { db in try ReadingTable.note(ids, at: time, db) }
        return readings
    }

    private var milliseconds: Int64 { Int64(saturating: (now().timeIntervalSince1970 * 1_000).rounded(.down)) }

    // MARK: Selection

    private func prepare(_ start: Int64) async throws {
        try await database.write { db in try ReadingTable.forgetFuture(now: start, db) }
        for step in [ReadingTable.removeStale, ReadingTable.addMissing] {
            var last: String? = ""
            while let id = last {
                last = try await database.write { db in try step(id, 1_000, db) }
            }
        }
    }

    /// Continues a recently interrupted read of all objects, or starts a new one.
    private func beginAll(_ start: Int64) async throws -> Int64 {
        let oldest = start - Int64(Self.validity / .milliseconds(1))
        return try await database.write { db in
            if let since = try ReadingTable.since(db), since > oldest, since <= start { return since }
            try ReadingTable.setSince(start, db)
            return start
        }
    }

    private static func cut(_ page: [ReadingTable.Entry]) -> ArraySlice<ReadingTable.Entry> {
        var bytes: Int64 = 0
        let rest = page.firstIndex { entry in
            defer { bytes = bytes.addingSaturated(entry.byteCount) }
            return bytes >= chunk.bytes
        }
        return page.prefix(max(rest ?? page.count, fewest))
    }
}

/// The remaining part of a share.
private struct Plan {
    private enum Rest {
        case all
        /// The number of bytes plus one for each object, so that empty objects count as well.
        case weight(Int64)
        case bytes(Int64, isFirst: Bool)
    }

    private var rest: Rest

    init(_ share: ReadShare?, files: Int, bytes: Int64) {
        switch share?.amount {
        case nil: rest = .all
        case .part(let part):
            let whole = Double(bytes) + Double(files)
            rest = .weight(Int64(saturating: (whole * part).rounded(.up)))
        case .bytes(let count): rest = .bytes(count, isFirst: true)
        }
    }

    /// Returns the amount that will be read, of the given total.
    func total(files: Int, bytes: Int64) -> (files: Int, bytes: Int64) {
        switch rest {
        case .all: (files, bytes)
        case .weight(let weight): (files, min(weight, bytes))
        case .bytes(let count, _): (files, min(count, bytes))
        }
    }

    /// Returns the first entries that fit into the rest.
    mutating func take(_ entries: ArraySlice<ReadingTable.Entry>) -> [ReadingTable.Entry] {
        Array(entries.prefix { take($0) })
    }

    /// Adds back the amount of an entry that was not read.
    mutating func giveBack(_ entry: ReadingTable.Entry) {
        switch rest {
        case .all: break
        case .weight(let weight): rest = .weight(weight.addingSaturated(entry.byteCount).addingSaturated(1))
        case .bytes(let count, let isFirst):
            rest = .bytes(count.addingSaturated(entry.byteCount), isFirst: isFirst)
        }
    }

    private mutating func take(_ entry: ReadingTable.Entry) -> Bool {
        switch rest {
        case .all: return true
        case .weight(let weight):
            guard weight > 0 else { return false }
            rest = .weight(weight - entry.byteCount - 1)
        case .bytes(let count, let isFirst):
            guard isFirst || entry.byteCount <= count else {
                // Smaller entries are not read instead, because their last read is more recent.
                rest = .bytes(0, isFirst: false)
                return false
            }
            rest = .bytes(max(count - entry.byteCount, 0), isFirst: false)
        }
        return true
    }
}
