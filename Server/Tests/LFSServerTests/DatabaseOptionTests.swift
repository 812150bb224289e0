import ArgumentParser
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

    @Test("A password in the URL is refused with advice and not printed")
    func password() throws {
        let error = #expect(throws: ValidationError.self) {
            try SyncStoreOptions.open("postgres://ann:hunter2@127.0.0.1/none")
        }
        #expect(error?.message.contains("PGPASSWORD") == true && error?.message.contains("hunter2") == false)
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
