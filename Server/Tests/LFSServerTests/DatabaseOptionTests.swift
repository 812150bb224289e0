import ArgumentParser
import Foundation
import LFSSyncServer
import Testing

@testable import lfs_server

@Suite("The option --database")
struct DatabaseOptionTests {
    @Test("A PostgreSQL URL opens that database without connecting to it")
    func postgres() async throws {
        for scheme in ["postgres", "postgresql"] {
            let database = try SyncStoreOptions.open("\(scheme)://nobody@127.0.0.1:1/none")
            #expect(database.dialect == .postgres)
            await database.close()
        }
    }

    @Test(arguments: [
        "db.example", "10.0.0.1", "127.0.0.1,db.example", "127.evil.example", "[2001:db8::1]", "x?hostaddr=192.0.2.1",
    ])
    func `A database on another machine needs an sslmode`(_ host: String) async throws {
        let parts = host.split(separator: "?").map(String.init)
        let more = parts.dropFirst().map { "&\($0)" }.joined()
        let url = "postgres://ann@\(parts[0])/none"
        let error = #expect(throws: ValidationError.self) {
            try SyncStoreOptions.open("\(url)?connect_timeout=5\(more)")
        }
        #expect(error?.message.contains("sslmode=verify-full") == true)
        for mode in ["verify-full", "require", "disable"] {
            await (try SyncStoreOptions.open("\(url)?sslmode=\(mode)\(more)")).close()
        }
    }

    @Test(arguments: ["", "localhost", "127.0.0.1", "[::1]", "%2Frun%2Fpostgresql", "localhost,127.0.0.2"])
    func `A database on this machine needs no sslmode`(_ host: String) async throws {
        await (try SyncStoreOptions.open("postgres://ann@\(host)/none")).close()
    }

    @Test("The server accepts the database of compose.yaml")
    func compose() async throws {
        let folder = URL(fileURLWithPath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let text = try String(contentsOf: folder.appendingPathComponent("compose.yaml"), encoding: .utf8)
        let url = try #require(text.firstMatch(of: /LFS_SERVER_DATABASE: (\S+)/)?.1)
        await (try SyncStoreOptions.open(String(url))).close()
    }

    @Test("A password in the URL is refused with advice and not printed")
    func password() throws {
        let error = #expect(throws: ValidationError.self) {
            try SyncStoreOptions.open("postgres://ann:hunter2@127.0.0.1/none")
        }
        #expect(error?.message.contains("PGPASSWORD") == true && error?.message.contains("hunter2") == false)
    }

    @Test("The URL behind a pooler is checked like that of the pooler")
    func direct() async throws {
        let url = "postgres://ann@127.0.0.1:1/none"
        await (try SyncStoreOptions.open(url, direct: url)).close()
        let error = #expect(throws: ValidationError.self) {
            try SyncStoreOptions.open(url, direct: "postgres://ann:hunter2@127.0.0.1/none")
        }
        let message = error?.message ?? ""
        #expect(message.contains("--direct-database") && message.contains("PGPASSWORD"), "\(message)")
        #expect(!message.contains("hunter2"))
    }

    @Test("--direct-database requires a PostgreSQL URL as --database")
    func directAlone() throws {
        let direct = ["--direct-database", "postgres://ann@127.0.0.1/none"]
        #expect(throws: (any Error).self) {
            try ServeCommand.parse(["--storage", "dir:/srv", "--tokens", "t"] + direct)
        }
        #expect(throws: (any Error).self) { try ServeCommand.parse(["--database", "sync.sqlite"] + direct) }
        #expect(throws: (any Error).self) { try SyncStoreOptions.parse(["--database", "sync.sqlite"] + direct) }
        let database = ["--database", "postgres://ann@127.0.0.1:6432/none"]
        #expect(try ServeCommand.parse(database + direct).directDatabase == direct[1])
        #expect(try SyncStoreOptions.parse(database + direct).directDatabase == direct[1])
    }

    @Test("A move reports that nothing was moved only if that is certain")
    func moveOutcome() {
        #expect(MoveCommand.outcome(after: SQLFailure(.busy, message: "x")) == "Nothing was moved.")
        let unknown = MoveCommand.outcome(after: SQLFailure(.unavailable, message: "x"))
        #expect(unknown.contains("unless the target has tables"))
    }

    /// Runs lfs-server, and returns its status and its messages.
    private func run(_ words: [String]) throws -> (status: Int32, messages: String) {
        let (process, errors) = (Process(), Pipe())
        process.executableURL = URL(filePath: ServerProcess.program)
        process.arguments = words
        process.standardOutput = FileHandle.nullDevice
        process.standardError = errors
        try process.start()
        let messages = String(decoding: try errors.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        process.waitUntilExit()
        return (process.terminationStatus, messages)
    }

    @Test(arguments: [
        ["session", "list"], ["session", "reset", "x"], ["session", "revoke", "x"], ["account", "list"],
        ["account", "quota", "--account", "ann"], ["account", "recount"], ["account", "remove", "--account", "ann"],
        ["prune"], ["restored"],
    ])
    func `A command for an existing database refuses a missing file`(_ words: [String]) async throws {
        try await ForeignTokenTests.withFolder { folder in
            let path = folder.appending(path: "none.sqlite").path
            let (status, messages) = try run(words + ["--database", path])
            #expect(status == 1 && messages.hasPrefix("Error: There is no database \(path)."), "\(messages)")
            #expect(!FileManager.default.fileExists(atPath: path))
        }
    }

    @Test func `The check of a missing database creates no file`() async throws {
        try await ForeignTokenTests.withFolder { folder in
            let path = folder.appending(path: "none.sqlite").path
            let (status, messages) = try run(["schema", "check", "--database", path])
            #expect(status == 0, "\(messages)")
            #expect(!FileManager.default.fileExists(atPath: path))
        }
    }

    @Test func `A move of a missing file creates no file`() async throws {
        try await ForeignTokenTests.withFolder { folder in
            let path = folder.appending(path: "none.sqlite").path
            let (status, messages) = try run(["move", "--from", path, "--to", "postgres://nobody@127.0.0.1:1/none"])
            #expect(status == 1, "\(messages)")
            #expect(messages.hasPrefix("Error: There is no database \(path). Nothing was moved."), "\(messages)")
            #expect(!FileManager.default.fileExists(atPath: path))
        }
    }

    @Test func `A new session with an unreadable schema creates no database`() async throws {
        try await ForeignTokenTests.withFolder { folder in
            let path = folder.appending(path: "sync.sqlite").path
            let schema = folder.appending(path: "none.sqlite").path
            let add = ["session", "add", "--account", "ann", "--database", path, "--schema-from", schema]
            let (status, messages) = try run(add)
            #expect(status != 0 && messages.contains("--schema-from \(schema)"), "\(messages)")
            #expect(!FileManager.default.fileExists(atPath: path))
        }
    }

    @Test func `A move needs a file and a PostgreSQL URL`() {
        for (from, to) in [("a.sqlite", "b.sqlite"), ("postgres://a@h/x", "postgres://a@h/y")] {
            #expect(throws: (any Error).self) { try MoveCommand.parse(["--from", from, "--to", to]) }
        }
    }

    @Test(arguments: [["session", "list"], ["prune"], ["restored"], ["schema", "check"]])
    func `A command without the tables of the server names the missing options`(_ words: [String]) async throws {
        try await ForeignTokenTests.withFolder { folder in
            let path = folder.appending(path: "sync.sqlite").path
            let database = try SQLiteDatabase(path: path)
            let schema = SyncSchema(tables: [.init("recipe", columns: [.init("title", kind: .text, isRequired: true)])])
            _ = try await SyncService(database, schema: schema)
            await database.close()
            let (status, messages) = try run(words + ["--database", path])
            #expect(status == 1 && messages.contains("'recipe'"), "\(messages)")
            #expect(messages.contains("--schema-from") && !messages.contains("Usage"), "\(messages)")
        }
    }

    @Test(arguments: [
        ["session", "reset", "x"], ["session", "revoke", "x"], ["session", "revoke", "--account", "bob"],
        ["account", "quota", "--account", "bob"], ["account", "remove", "--account", "bob"],
    ])
    func `An unknown account or session ends a command with 1 and no usage`(_ words: [String]) async throws {
        try await ForeignTokenTests.withFolder { folder in
            let database = ["--database", folder.appending(path: "sync.sqlite").path]
            #expect(try run(["session", "add", "--account", "ann"] + database).status == 0)
            let (status, messages) = try run(words + database)
            #expect(status == 1 && messages.hasPrefix("Error: The"), "\(messages)")
            #expect(!messages.contains("Usage"), "\(messages)")
        }
    }

    @Test func `Revoking the tokens of an unknown account ends with 1 and no usage`() async throws {
        try await ForeignTokenTests.withFolder { folder in
            let tokens = ["--tokens", folder.appending(path: "tokens").path]
            #expect(try run(["token", "add", "--account", "ann"] + tokens).status == 0)
            let (status, messages) = try run(["token", "revoke", "--account", "bob"] + tokens)
            #expect(status == 1 && messages.hasPrefix("Error: There is no token"), "\(messages)")
            #expect(!messages.contains("Usage"), "\(messages)")
        }
    }

    @Test("An invalid storage is refused before the server starts")
    func storage() throws {
        let error = #expect(throws: (any Error).self) {
            try ServeCommand.parse(["--storage", "foo", "--tokens", "t"])
        }
        let text = error.map { ServeCommand.message(for: $0) } ?? ""
        #expect(text.contains("'foo' is not a storage. Write dir:PATH, "), "\(text)")
    }

    @Test("Signing with PostgreSQL requires --secret")
    func secret() throws {
        let database = ["--database", "postgres://a@h/x"]
        #expect(throws: (any Error).self) { try ServeCommand.parse(database + ["--storage", "dir:/srv"]) }
        #expect(throws: (any Error).self) { try ServeCommand.parse(database + ["--secret", "s"]) }
        _ = try ServeCommand.parse(database + ["--storage", "dir:/srv", "--secret", "s"])
        _ = try ServeCommand.parse(database)
    }
}
