import ArgumentParser
import LFSSyncServer
import Testing

@testable import lfs_server

@Suite("The option --database")
struct DatabaseOptionTests {
    @Test("A URL of PostgreSQL opens that database, and nothing is reached before it is needed")
    func postgres() async throws {
        for scheme in ["postgres", "postgresql"] {
            let database = try SyncStoreOptions.open("\(scheme)://nobody@127.0.0.1:1/none")
            #expect(database.dialect == .postgres)
            await database.close()
        }
    }

    @Test("A password in the URL is refused without being repeated, with a word on where it goes")
    func password() throws {
        let error = #expect(throws: ValidationError.self) {
            try SyncStoreOptions.open("postgres://ann:hunter2@127.0.0.1/none")
        }
        #expect(error?.message.contains("PGPASSWORD") == true && error?.message.contains("hunter2") == false)
    }

    @Test("Signing beside PostgreSQL needs a file for what it signs with, which belongs to signing")
    func secret() throws {
        let database = ["--database", "postgres://a@h/x"]
        #expect(throws: (any Error).self) { try ServeCommand.parse(database + ["--storage", "dir:/srv"]) }
        #expect(throws: (any Error).self) { try ServeCommand.parse(database + ["--secret", "s"]) }
        _ = try ServeCommand.parse(database + ["--storage", "dir:/srv", "--secret", "s"])
        _ = try ServeCommand.parse(database)
    }
}
