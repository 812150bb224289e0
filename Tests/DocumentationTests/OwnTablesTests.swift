import Foundation
import GRDB
import LFS
import LFSStorage
import LFSSync
import LFSTesting
import Testing

private enum ServerProgram {
    static let path = ProcessInfo.processInfo.environment["LFS_SERVER"]
}

/// Tests of the steps of the page "Sync your own tables", with the built `lfs-server` at the path in `LFS_SERVER`.
@Suite("Guide to syncing your own tables", .enabled(if: ServerProgram.path != nil), .timeLimit(.minutes(10)))
struct OwnTablesTests {
    /// Runs the program with the words of a line of the page.
    private func start(_ line: String, in folder: URL) throws -> (process: Process, output: FileHandle) {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: try #require(ServerProgram.path))
        process.arguments = line.split(separator: " ").map(String.init)
        process.currentDirectoryURL = folder
        process.standardOutput = output
        try process.start()
        return (process, output.fileHandleForReading)
    }

    private func run(_ line: String, in folder: URL) throws -> [String] {
        let (process, output) = try start(line, in: folder)
        let text = try output.readToEnd() ?? Data()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0, "\(line)")
        return String(decoding: text, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    /// Returns the commands of the page, without the program's name and with the variable's value.
    private func commands() throws -> [String] {
        let page = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
            .appendingPathComponent("Sources/Sync/LFSSync/LFSSync.docc/SyncYourOwnTables.md")
        let text = try String(contentsOf: page, encoding: .utf8)
        let lines = try #require(text.firstMatch(of: /```sh\n((?:.|\n)*?)```/)).1.split(separator: "\n").map(
            String.init)
        let value = try #require(lines.first?.firstMatch(of: /share="(.*)"/)).1
        return lines.dropFirst().map { $0.replacing("$share", with: value).replacing("lfs-server ", with: "") }
    }

    private func client(_ database: DatabasePool, url: String, token: String) async throws -> SyncClient {
        var options = SyncOptions(server: try #require(URL(string: url))) { token }
        options.allowsPlainHTTP = true
        return try await SyncClient.open(database, options: options)
    }

    @Test("The steps of the page work with two accounts and a real server")
    func steps() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("photos-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: folder) } }
        let host = OwnTables()
        try host.openPhotos(folder.appendingPathComponent("photos.sqlite").path).close()
        let commands = try commands()
        #expect(commands.count == 4)
        let ann = try host.openPhotos(folder.appendingPathComponent("ann.sqlite").path)
        let bob = try host.openPhotos(folder.appendingPathComponent("bob.sqlite").path)

        _ = try run(commands[0], in: folder)
        let tokens = try [commands[1], commands[2]].map { try #require(try run($0, in: folder).last) }
        // The server prints the port that the system chooses.
        let address = " --listen 127.0.0.1:0 --url http://127.0.0.1/lfs"
        let (server, output) = try start(commands[3] + address, in: folder)
        defer {
            server.terminate()
            server.waitUntilExit()
        }
        let url = try #require(
            String(data: output.availableData, encoding: .utf8)?.trimmingCharacters(in: .whitespacesAndNewlines))
        let (one, two) = (
            try await client(ann, url: url, token: tokens[0]), try await client(bob, url: url, token: tokens[1])
        )

        let storage = InMemoryStorage()
        let lfs = try await LFSManager.open(ann, options: LFSOptions(storage: storage))
        let other = try await LFSManager.open(bob, options: LFSOptions(storage: storage))
        try lfs.start()
        try other.start()
        try await ann.write { try $0.execute(sql: "INSERT INTO album VALUES ('summer', 'Summer'), ('own', 'Own')") }
        try await host.addPhoto(Data("a picture".utf8), to: "summer", lfs: lfs, database: ann)
        try await lfs.waitForUploads()
        for sync in [one, two] { try await sync.synchronize() }
        try await host.share("summer", with: "bob", sync: one, database: ann)
        for sync in [one, two] { try await sync.synchronize() }

        #expect(try await host.albums(bob).map(\.title) == ["Summer"])
        #expect(try await host.albums(bob).allSatisfy(\.isForeign))
        #expect(try await host.albums(ann).map(\.title) == ["Own", "Summer"])
        #expect(try await !host.albums(ann).contains(where: \.isForeign))
        let photo = try #require(try await host.photos(of: "summer", bob).first)
        #expect(try await other.data(of: photo) == Data("a picture".utf8))
        await #expect(throws: OwnTables.NoSuchAccount.self) {
            try await host.share("summer", with: "cat", sync: one, database: ann)
        }

        for database in [ann, bob] { #expect(try await host.members(of: "summer", database) == ["bob"]) }
        try await host.changeName(to: "Bob Lee", sync: two, database: bob)
        for sync in [two, one] { try await sync.synchronize() }
        #expect(try await host.members(of: "summer", ann) == ["Bob Lee"])

        try await host.letReadAll("bob", sync: one, database: ann)
        for sync in [one, two] { try await sync.synchronize() }
        #expect(try await host.albums(bob).map(\.title) == ["Own", "Summer"])
        #expect(try await bob.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM photo") } == 1)

        // Both permissions are withdrawn.
        try await ann.write { try $0.execute(sql: "DELETE FROM partner; DELETE FROM album_user") }
        for sync in [one, two] { try await sync.synchronize() }
        #expect(try await host.albums(bob).isEmpty)
        for database in [ann, bob] { #expect(try await host.problems(database).isEmpty) }
        #expect(storage.keys.count == 1)

        // The server has version 1 of the photos.
        try host.addFavorites(ann)
        let newer = try await client(ann, url: url, token: tokens[0])
        try await host.addPhoto(Data("another picture".utf8), to: "own", lfs: lfs, database: ann)
        try await lfs.waitForUploads()
        #expect(try await newer.synchronize().pending == 0)
        #expect(try await host.problems(ann).isEmpty)
        await newer.shutdown()

        let (told, continuation) = AsyncStream.makeStream(of: String.self)
        let task = Task { try await host.showSync(two) { continuation.yield($0) } }
        for await text in told {
            #expect(text == "0 wait, 0 parked, 0 refused")
            break
        }
        task.cancel()
        _ = await task.result
        for manager in [lfs, other] { try await manager.stop() }
        for sync in [one, two] { await sync.shutdown() }
    }
}
