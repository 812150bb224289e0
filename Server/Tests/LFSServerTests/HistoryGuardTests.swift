import ArgumentParser
import Foundation
import LFSSyncServer
import Logging
import Testing

@testable import lfs_server

@Suite("Guard of the database's history", .timeLimit(.minutes(10)))
struct HistoryGuardTests {
    private func run(_ body: (_ folder: URL, _ file: StateFile) async throws -> Void) async throws {
        try await ForeignTokenTests.withFolder { folder in
            try await body(folder, StateFile(path: folder.appending(path: "state/mark.json").path))
        }
    }

    /// Opens the database, runs a body with its service, and closes it, as one run of the server does.
    private func serve(
        _ path: String, _ body: (SyncService) async throws -> Void
    ) async throws {
        let database = try SQLiteDatabase(path: path)
        try await body(try await SyncService(database, schema: SyncSchema()))
        await database.close()
    }

    private func start(_ service: SyncService, file: StateFile?, isRequired: Bool = true) async throws {
        _ = try await HistoryGuard(service, file: file, isRequired: isRequired, logger: Logger(label: "test"))
    }

    @Test("A file of SQLite that is put back is noticed at the next start")
    func putBack() async throws {
        try await run { folder, file in
            let (path, backup) = (folder.appending(path: "s.sqlite").path, folder.appending(path: "backup").path)
            try await serve(path) { service in
                try await start(service, file: file)
                _ = try await service.addSession(account: "ann")
            }
            // The connections are closed, so the file contains everything.
            try FileManager.default.copyItem(atPath: path, toPath: backup)
            for _ in 1...2 {
                let before = try file.read()
                try await serve(path) { service in
                    #expect(try await !service.compareHistory(with: before).wasRestored)
                    try await start(service, file: file)
                }
            }
            for suffix in ["", "-wal", "-shm"] where FileManager.default.fileExists(atPath: path + suffix) {
                try FileManager.default.removeItem(atPath: path + suffix)
            }
            try FileManager.default.copyItem(atPath: backup, toPath: path)
            let mark = try file.read()
            try await serve(path) { service in
                try await start(service, file: file)
                // The restore was noticed and counted, so the mark of the lost history is not behind any more.
                #expect(try await !service.compareHistory(with: mark).wasRestored)
            }
            #expect(try file.read() != mark)
        }
    }

    @Test("A damaged state file stops the server with advice")
    func damaged() async throws {
        try await run { folder, file in
            try FileManager.default.createDirectory(
                at: URL(filePath: file.path).deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data("{}".utf8).write(to: URL(filePath: file.path))
            try await serve(folder.appending(path: "s.sqlite").path) { service in
                let error = await #expect(throws: ValidationError.self) { try await start(service, file: file) }
                #expect(error?.message.contains("remove the file") == true)
            }
        }
    }

    @Test("A state file that cannot be written stops the server only if --state names it")
    func unwritable() async throws {
        try await run { folder, file in
            try Data().write(to: URL(filePath: file.path).deletingLastPathComponent())
            try await serve(folder.appending(path: "s.sqlite").path) { service in
                await #expect(throws: (any Error).self) { try await start(service, file: file) }
                try await start(service, file: file, isRequired: false)
                try await start(service, file: nil, isRequired: false)
            }
        }
    }

    @Test("A state file that cannot be read is not replaced")
    func unreadable() async throws {
        try await run { folder, file in
            try FileManager.default.createDirectory(
                at: URL(filePath: file.path).deletingLastPathComponent(), withIntermediateDirectories: true)
            // A link to itself, which root cannot read either.
            try FileManager.default.createSymbolicLink(atPath: file.path, withDestinationPath: file.path)
            try await serve(folder.appending(path: "s.sqlite").path) { service in
                try await start(service, file: file, isRequired: false)
                #expect(try FileManager.default.destinationOfSymbolicLink(atPath: file.path) == file.path)
            }
        }
    }

    @Test("The default file is in the folder of the user's state, one for each database")
    func standard() throws {
        let home = ["HOME": "/home/ann"]
        let one = try #require(StateFile.standard(forDatabase: "/srv/a.sqlite", environment: home)).path
        let two = try #require(StateFile.standard(forDatabase: "/srv/b.sqlite", environment: home)).path
        #expect(one.hasPrefix("/home/ann/.local/state/lfs-server/") && one.hasSuffix(".json") && one != two)
        let other = try #require(
            StateFile.standard(forDatabase: "postgres://db/lfs", environment: ["XDG_STATE_HOME": "/state"]))
        #expect(other.path.hasPrefix("/state/lfs-server/"))
        #expect(StateFile.standard(forDatabase: "/srv/a.sqlite", environment: ["HOME": "relative"]) == nil)
        #expect(throws: (any Error).self) {
            try ServeCommand.parse(["--storage", "dir:d", "--tokens", "t", "--state", "s"])
        }
        #expect(try ServeCommand.parse(["--database", "s.sqlite", "--state", "s"]).state == "s")
    }
}
