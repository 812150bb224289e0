import ArgumentParser
import LFSServerPostgres
import LFSSyncServer

/// A command that copies the sync database from SQLite to PostgreSQL.
struct MoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "move", abstract: "Copies the sync database from an SQLite file to PostgreSQL.",
        discussion: """
            Stop the server first. The command refuses a file that is open elsewhere, and
            a target that has tables. It writes nothing to the file, and fills the target
            in one transaction: after a failure, the target is still empty, or complete if
            the connection ended during the commit. Devices continue without receiving
            their rows again.

            EXAMPLES
              Move the database of a stopped server:
                createdb --owner lfs --encoding UTF8 --template template0 lfs
                lfs-server move --from sync.sqlite --to postgres://lfs@localhost/lfs

            Then start the server with the new --database. If it has --storage, also give
            --secret sync.sqlite.secret, because a new secret would end running uploads.
            """)

    @Option(help: ArgumentHelp("The SQLite file of the stopped server.", valueName: "file"))
    var from: String

    @Option(
        help: ArgumentHelp(
            "The PostgreSQL database, with the password in PGPASSWORD or ~/.pgpass.", valueName: "url"))
    var to: String

    func validate() throws {
        guard !SyncStoreOptions.isPostgres(from) else { throw ValidationError("--from has to be an SQLite file.") }
        guard SyncStoreOptions.isPostgres(to) else {
            throw ValidationError("--to has to be a PostgreSQL database: postgres://USER@HOST/NAME.")
        }
    }

    /// Returns a sentence about the state of the target after a failure. If the connection ends during the commit, the
    /// server may have committed.
    static func outcome(after failure: SQLFailure) -> String {
        guard failure.code == .unavailable else { return "Nothing was moved." }
        return "Nothing was moved, unless the target has tables now. It then has all rows, and the move is complete."
    }

    func run() async throws {
        let target: PostgresDatabase
        do {
            target = try PostgresDatabase(url: to)
        } catch let failure as SQLFailure {
            // The message omits the URL, which may contain a password.
            throw ValidationError("--to: \(failure.message)")
        }
        let result: Result<[String: Int64], any Error>
        do {
            result = .success(try await SyncStore.move(fileAt: from, to: target))
        } catch let failure as SQLFailure {
            result = .failure(CommandFailure("\(failure.message) \(Self.outcome(after: failure))"))
        } catch {
            result = .failure(error)
        }
        await target.close()
        for (table, count) in try result.get().sorted(by: { $0.key < $1.key }) {
            Console.print("\(table): \(count) rows")
        }
        Console.print(
            """
            Both databases have the same number of rows in each table. Start the server
            with the same options, and with --database \(to).
            If it has --storage, add the signing secret, by default --secret \(from).secret.
            Do not serve \(from) again: it lacks all later changes.
            """)
    }
}
