import Foundation
import GRDB
import LFS
import Synchronization

/// Returns uploaded files with local copies, all of one size.
func keptFiles(_ count: Int, byteCount: Int = 1_000, host: TestHost, lfs: LFSManager) async throws -> [FileData] {
    var files: [FileData] = []
    for _ in 0..<count { files.append(try await lfs.makeFile(from: .bytes(someBytes(byteCount)))) }
    let made = files
    try await host.database.write { db in for file in made { try file.insert(db) } }
    try await lfs.waitForUploads()
    return files
}

/// Returns uploaded files of 1,000 bytes without local copies.
func absentFiles(_ count: Int, host: TestHost, lfs: LFSManager) async throws -> [FileData] {
    try await remoteFiles((0..<count).map { _ in someBytes() }, host: host, lfs: lfs)
}

extension TestHost {
    /// Sets the last uses of local copies, in seconds since 1970.
    func setUses(_ uses: [(FileData, Double)]) async throws {
        try await database.write { db in
            for (file, seconds) in uses {
                try db.execute(
                    sql: """
                        INSERT INTO lfs_copy (fileID, lastUsed) VALUES (?, ?)
                        ON CONFLICT (fileID) DO UPDATE SET lastUsed = excluded.lastUsed
                        """,
                    arguments: [file.id, Int64(seconds * 1_000)])
            }
        }
    }

    /// Returns the total size of the files in the store.
    func byteCountInStore() throws -> Int {
        try filesInStore().reduce(0) { sum, name in
            let path = store.appendingPathComponent(name.uuidString).path
            let attributes = try FileManager.default.attributesOfItem(atPath: path)
            return sum + (attributes[.size] as? Int ?? 0)
        }
    }
}

/// A time that a test sets. The mutex owns it.
final class TestTime: Sendable {
    private let date: Mutex<Date>

    init(_ date: Date) { self.date = Mutex(date) }

    var now: Date {
        get { date.withLock { $0 } }
        set { date.withLock { $0 = newValue } }
    }

    /// Advances the time by one millisecond and returns it.
    func tick() -> Date {
        date.withLock { date in
            date.addTimeInterval(0.001)
            return date
        }
    }
}

/// The reported values, in order. The mutex owns them.
final class Heard<Value: Sendable>: Sendable {
    private let list = Mutex<[Value]>([])
    var values: [Value] { list.withLock { $0 } }
    func add(_ value: Value) { list.withLock { $0.append(value) } }
}
