import Foundation
import GRDB
import LFS
import Synchronization

/// Files that are on the storage and on this device, all of one size.
func keptFiles(_ count: Int, byteCount: Int = 1_000, _ host: TestHost, _ lfs: LFSManager) async throws -> [FileData] {
    var files: [FileData] = []
    for _ in 0..<count { files.append(try await lfs.makeFile(from: .bytes(someBytes(byteCount)))) }
    let made = files
    try await host.database.write { db in for file in made { try file.insert(db) } }
    try await lfs.waitForUploads()
    return files
}

/// Files of 1,000 bytes that are on the storage and not here.
func absentFiles(_ count: Int, _ host: TestHost, _ lfs: LFSManager) async throws -> [FileData] {
    try await remoteFiles((0..<count).map { _ in someBytes() }, host, lfs)
}

extension TestHost {
    /// Writes down when the local copies were last used, in seconds since 1970.
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

    /// The bytes of the files in the store.
    func byteCountInStore() throws -> Int {
        try filesInStore().reduce(0) { sum, name in
            let path = store.appendingPathComponent(name.uuidString).path
            let attributes = try FileManager.default.attributesOfItem(atPath: path)
            return sum + (attributes[.size] as? Int ?? 0)
        }
    }
}

/// A time that a test sets. Owner: the mutex.
final class TestTime: Sendable {
    private let date: Mutex<Date>

    init(_ date: Date) { self.date = Mutex(date) }

    var now: Date {
        get { date.withLock { $0 } }
        set { date.withLock { $0 = newValue } }
    }

    /// A millisecond more for each who asks.
    func tick() -> Date {
        date.withLock { date in
            date.addTimeInterval(0.001)
            return date
        }
    }
}

/// What was told, in order. Owner: the mutex.
final class Heard<Value: Sendable>: Sendable {
    private let list = Mutex<[Value]>([])
    var values: [Value] { list.withLock { $0 } }
    func add(_ value: Value) { list.withLock { $0.append(value) } }
}
