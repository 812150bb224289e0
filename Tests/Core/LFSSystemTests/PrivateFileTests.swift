import Foundation
import LFSSystem
import TestSupport
import Testing

@Suite("Private database files")
struct PrivateFileTests {
    private func mode(_ path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    @Test func `A new database file is private to its owner`() async throws {
        try await withTemporaryFolder { folder in
            let path = folder.appendingPathComponent("a.sqlite").path
            let readable = try PrivateFile.make(path)
            #expect(readable.isEmpty)
            #expect(try mode(path) == 0o600)
        }
    }

    @Test func `A readable database file and its companions become private to the owner`() async throws {
        try await withTemporaryFolder { folder in
            let path = folder.appendingPathComponent("a.sqlite").path
            for suffix in ["", "-wal", "-shm"] {
                try Data([1]).write(to: URL(fileURLWithPath: path + suffix))
                try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path + suffix)
            }
            let readable = try PrivateFile.make(path)
            #expect(readable.isEmpty)
            for suffix in ["", "-wal", "-shm"] { #expect(try mode(path + suffix) == 0o600) }
            #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Data([1]))
        }
    }

    @Test func `A database file in a missing folder cannot be created`() async throws {
        try await withTemporaryFolder { folder in
            let path = folder.appendingPathComponent("none/a.sqlite").path
            #expect(throws: SystemError.self) { try PrivateFile.make(path) }
        }
    }
}
