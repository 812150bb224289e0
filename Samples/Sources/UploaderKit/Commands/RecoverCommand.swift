import ArgumentParser
import Foundation

struct RecoverCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "recover",
        abstract: "Bring a database back that was lost, from the copy on its storage.",
        discussion: """
            The storage knows files by their ids only: which is which stands in the
            database. 'push --save-database' keeps copies of it on the storage, the last
            three of each database, under lfs-recovery/. Without --database they are
            listed; with it the newest one is written there, or that of --id where the
            storage has several databases. 'pull' then fetches the files.

            A copy is the SQLite database, compressed with gzip: other tools read it, too.
            The names of the files stand in it in the clear.

            What was pushed after the copy was made has its bytes on the storage and no
            record in it. As long as the lost database may still come back, do not push
            into the recovered one.
            """)

    @Option(
        name: .long, help: ArgumentHelp("The storage, as --to names it elsewhere.", valueName: "storage"),
        completion: .storage)
    var from: String

    @Option(
        name: .long, help: ArgumentHelp("Where to write the database; there must be no file yet.", valueName: "path"),
        completion: .file())
    var database: String?

    @Option(name: .long, help: ArgumentHelp("Which database, or the beginning of its id.", valueName: "id"))
    var id: String?

    @Option(
        name: .long,
        help: ArgumentHelp("The copy of this time, as the list has it; the newest otherwise.", valueName: "time"))
    var saved: String?

    @Flag(name: .long, help: "Print one JSON object for each copy.")
    var json = false

    private struct Event: Encodable {
        var event: String
        var id: String
        var bytes: Int64
        var saved: String
        var files: Int?
    }

    func validate() throws {
        _ = try StorageArgument(parsing: from)
        if id?.isEmpty == true { throw ValidationError("--id is empty.") }
        if database?.isEmpty == true { throw ValidationError("--database is empty. Give it the path of a file.") }
    }

    func run() async throws {
        try await reportingErrors(json: json) {
            let (given, transfer) = (try GivenStorage(parsing: from), try TransferOptions.parse([]))
            let location = try given.argument.location()
            guard location.isThere else { throw UploaderError("There is no folder \(location) to find copies in.") }
            let copies = RecoveryCopies(storage: try await given.argument.open(transfer, writes: false))
            let found = try await copies.list().filter { copy in
                (id.map { copy.databaseID.hasPrefix($0.lowercased()) } ?? true)
                    && (saved.map { copy.saved == $0 } ?? true)
            }
            guard !found.isEmpty else {
                let which = (id.map { " with the id \($0)" } ?? "") + (saved.map { " of \($0)" } ?? "")
                throw UploaderError(
                    "There is no copy of a database\(which) on \(location). 'push --save-database' keeps them there.")
            }
            guard let database else { return try list(found.reversed()) }
            try await recover(found, to: database, copies, (location, given))
        }
    }

    private func list(_ found: [RecoveryCopies.Copy]) throws {
        for copy in found {
            let event = Event(event: "copy", id: copy.databaseID, bytes: copy.byteCount, saved: copy.saved)
            Console.result(
                json ? try event.jsonLine() : "\(copy.databaseID)  \(copy.saved)  \(Format.bytes(copy.byteCount))")
        }
        guard !json else { return }
        let several = Set(found.map(\.databaseID)).count > 1
        Console.message("uploader: Give --database FILE\(several ? " and --id" : "") to write the newest one there.")
    }

    private func recover(
        _ found: [RecoveryCopies.Copy], to path: String, _ copies: RecoveryCopies,
        _ storage: (location: StorageLocation, given: GivenStorage)
    ) async throws {
        guard let newest = found.last, Set(found.map(\.databaseID)).count == 1 else {
            let ids = Set(found.map(\.databaseID)).sorted().joined(separator: ", ")
            throw UploaderError("The storage has several databases: name one with --id. There are \(ids).")
        }
        let recovery = RecoveredDatabase(path: path)
        let files = try await recovery.make(from: newest, copies, storage)
        // Of two saves in one second the later one has the name of the next.
        if newest.date > Date().addingTimeInterval(Double(RecoveryCopies.kept)) {
            Console.message(
                "uploader: This copy is of a time that is still to come: a clock was wrong. --saved takes another.")
        }
        if json {
            let event = Event(
                event: "recovered", id: newest.databaseID, bytes: newest.byteCount, saved: newest.saved, files: files)
            return Console.result(try event.jsonLine())
        }
        Console.result(
            "\(path): \(Format.count(files, "file")), as of \(newest.saved), \(Format.time(since: newest.date)) ago")
        Console.message("uploader: uploader pull --database '\(path)' --to '\(from)' --all --output DIR fetches them.")
    }
}
