import Foundation
import GRDB
import LFS
import LFSStorage
import LFSTesting
import TestSupport
import Testing

@testable import LFSS3

/// Tests of deletions against real servers. Each kind of deletion must leave nothing on the device or the server.
@Suite("Deletion of files on S3 servers", .enabled(if: TestServer.isAvailable), .timeLimit(.minutes(10)))
struct DeletionServerTests {
    /// The ways in which the app deletes the files of a recipe.
    enum Way: String, CaseIterable {
        case record = "by the record API"
        case sql = "by raw SQL"
        case cascade = "by a cascade from the host's table"
        case replace = "by REPLACE of their owner"
        case whileUploading = "while their uploads run"
    }

    private static let count = 20

    @Test("Deleted files leave no object and no local copy", arguments: TestServer.all, Way.allCases)
    func delete(_ server: TestServer, way: Way) async throws {
        let storage = try await server.storage()
        let gate = GatedStorage(storage, isOpen: way != .whileUploading)
        try await withTemporaryFolder { folder in
            try await ReadingHost.with(folder, storage: gate) { host in
                let (mine, others) = try await attach(host)
                if way == .whileUploading { await gate.waitForArrivals(2) } else { try await host.lfs.waitForUploads() }
                try await delete(mine, way: way, host: host)
                gate.open()
                try await host.lfs.waitForUploads()
                try await #expect(host.lfs.waitForDeletions() == 0)
                let left = Set(others.map(\.key))
                try await #expect(keys(others[0], storage: storage) == left)
                #expect(try Set(host.kept) == Set(others.map(\.id)))
                try await #expect(host.database.read { try FileData.fetchCount($0) } == others.count)
            }
        }
        await storage.shutdown()
    }

    @Test("The next manager completes an interrupted removal", arguments: TestServer.all)
    func interrupted(_ server: TestServer) async throws {
        let storage = try await server.storage()
        let gate = GatedStorage(storage, on: [.delete])
        try await withTemporaryFolder { folder in
            var files: [FileData] = []
            try await ReadingHost.with(folder, storage: gate) { host in
                (files, _) = try await attach(host)
                try await host.lfs.waitForUploads()
                try await host.database.write { db in try db.execute(sql: "DELETE FROM lfs_file") }
                await gate.waitForArrivals(2)
                gate.pass(gate.waiting[0])
                // The other deletions are in progress, and the stop cancels them.
            }
            let rest = try await keys(files[0], storage: storage).count
            #expect(rest > 0 && rest < 2 * Self.count)
            try await ReadingHost.with(folder, storage: storage) { host in
                try await #expect(host.lfs.waitForDeletions() == 0)
                try await #expect(keys(files[0], storage: storage).isEmpty)
                #expect(try host.kept.isEmpty)
            }
        }
        await storage.shutdown()
    }

    /// Makes the files of a recipe in a book, and as many files without an owner.
    private func attach(_ host: ReadingHost) async throws -> (mine: [FileData], others: [FileData]) {
        var files: [FileData] = []
        for index in 0..<2 * Self.count {
            files.append(try await host.lfs.makeFile(from: .bytes(SampleBytes.make(5_000, seed: UInt64(index) + 1))))
        }
        let made = files
        try await host.database.write { db in
            try db.execute(
                sql: """
                    CREATE TABLE book (id INTEGER PRIMARY KEY);
                    CREATE TABLE page (
                        number INTEGER UNIQUE, bookId INTEGER REFERENCES book ON DELETE CASCADE,
                        fileId TEXT REFERENCES lfs_file ON DELETE CASCADE);
                    INSERT INTO book VALUES (1);
                    """)
            try FileData.deletedWithOwner("page", column: "fileId", in: db)
            for (number, file) in made.enumerated() {
                try file.insert(db)
                guard number < Self.count else { continue }
                try db.execute(sql: "INSERT INTO page VALUES (?, 1, ?)", arguments: [number, file.id])
            }
        }
        return (Array(files.prefix(Self.count)), Array(files.dropFirst(Self.count)))
    }

    private func delete(_ files: [FileData], way: Way, host: ReadingHost) async throws {
        try await host.database.write { db in
            switch way {
            case .record, .whileUploading: for file in files { try file.delete(db) }
            case .sql: try db.execute(sql: "DELETE FROM lfs_file WHERE id IN (SELECT fileId FROM page)")
            case .cascade: try db.execute(sql: "DELETE FROM book")
            case .replace: try db.execute(sql: "REPLACE INTO page (number) SELECT number FROM page")
            }
        }
    }

    private func keys(_ file: FileData, storage: S3Storage) async throws -> Set<String> {
        let namespace = try #require(file.key.split(separator: "/").first)
        return Set(try await storage.list(ListRequest(prefix: "\(namespace)/")).objects.map(\.key.rawValue))
    }
}
