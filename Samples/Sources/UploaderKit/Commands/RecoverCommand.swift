import ArgumentParser
import Foundation

struct RecoverCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "recover",
        abstract: "Bring a database back that was lost, from the copy on its storage.",
        discussion: """
            The storage knows files by their ids: which is which stands in the database.
            'push --save-database' keeps copies of it on the storage, the last three of
            each machine, under <id>/lfs-recovery/. Without --database they are listed;
            with it the newest one is written there, or that of --id where the storage
            has several databases. 'pull' then fetches the files. A signing server
            has to be given the whole --id, which the first 'push --save-database' shows.

            A clone of a machine, or a database that was restored beside the old one, saves
            copies of its own: the list names the writer of each, and --writer takes one.

            Whoever can write to the storage could put another database there, with other
            paths and files. So each copy carries a code (HMAC-SHA-256) with a key from the
            passphrase in LFS_RECOVERY_PASSPHRASE, and 'recover' wants the same passphrase.
            Set it for each command that saves copies, and keep it away from the machine.
            --unauthenticated takes a copy without looking at the code: then look at 'list'
            before 'pull', and pull into a folder of its own. The code cannot show that the
            storage keeps newer copies back.

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
        completion: .file(), transform: DatabaseFile.path(of:))
    var database: String?

    @Option(name: .long, help: ArgumentHelp("Which database, or the beginning of its id.", valueName: "id"))
    var id: String?

    @Option(
        name: .long,
        help: ArgumentHelp("Which machine's copies, or the beginning of its id in the list.", valueName: "id"))
    var writer: String?

    @Option(
        name: .long,
        help: ArgumentHelp("The copy of this time, as the list has it; the newest otherwise.", valueName: "time"))
    var saved: String?

    @Flag(name: .long, help: "Take a copy although nothing shows that it comes from you.")
    var unauthenticated = false

    @Flag(name: .long, help: "Print one JSON object for each copy.")
    var json = false

    private struct Event: Encodable {
        var event: String
        var id: String
        var bytes: Int64
        var saved: String
        var writer: String?
        var files: Int?

        init(_ event: String, _ copy: RecoveryCopies.Copy, files: Int? = nil) {
            self.event = event
            id = copy.databaseID
            bytes = copy.byteCount
            saved = copy.time.text
            writer = copy.writer
            self.files = files
        }
    }

    func validate() throws {
        _ = try StorageArgument(parsing: from)
        if id?.isEmpty == true { throw ValidationError("--id is empty.") }
        if writer?.isEmpty == true { throw ValidationError("--writer is empty.") }
        if database?.isEmpty == true { throw ValidationError("--database is empty. Give it the path of a file.") }
    }

    func run() async throws {
        try await reportingErrors(json: json) {
            let (given, transfer) = (try GivenStorage(parsing: from), try TransferOptions.parse([]))
            let location = try given.argument.location()
            guard location.isThere else { throw UploaderError("There is no folder \(location) to find copies in.") }
            try given.argument.requireEncryption()
            if let host = given.argument.namedHost { TrustedHosts().note(host) }
            let copies = RecoveryCopies(storage: try await given.argument.open(transfer, writes: false))
            let found = try await copies.find(id?.lowercased() ?? "").filter { copy in
                (writer.map { copy.writer?.hasPrefix($0.lowercased()) ?? false } ?? true)
                    && (saved.map { copy.time.fits($0) } ?? true)
            }
            guard !found.isEmpty else {
                let which =
                    (id.map { " with the id \($0)" } ?? "") + (writer.map { " by \($0)" } ?? "")
                    + (saved.map { " of \($0)" } ?? "")
                throw UploaderError(
                    "There is no copy of a database\(which) on \(location). 'push --save-database' keeps them there.")
            }
            guard let database else { return try list(found.reversed()) }
            try await recover(found, to: database, copies, (location, given))
        }
    }

    private func list(_ found: [RecoveryCopies.Copy]) throws {
        for copy in found {
            let words = [copy.databaseID, copy.time.text, copy.writer ?? "-", Format.bytes(copy.byteCount)]
            Console.result(json ? try Event("copy", copy).jsonLine() : words.joined(separator: "  "))
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
        let recovery = RecoveredDatabase(path: path, isAuthenticated: !unauthenticated)
        let files = try await recovery.make(from: newest, copies, storage)
        let others = Set(found.compactMap(\.writer)).subtracting([newest.writer].compactMap(\.self))
        if !others.isEmpty {
            Console.message(
                """
                uploader: This is the newest copy. Other machines have saved copies of this database as well, with \
                files of their own: --writer takes one of \(others.sorted().joined(separator: ", ")).
                """)
        }
        // Of two saves in one moment the later one has the name of the next.
        if newest.time.date > Date().addingTimeInterval(Double(RecoveryCopies.kept)) {
            Console.message(
                "uploader: This copy is of a time that is still to come: a clock was wrong. --saved takes another.")
        }
        if json {
            return Console.result(try Event("recovered", newest, files: files).jsonLine())
        }
        let age = Format.time(since: newest.time.date)
        Console.result("\(path): \(Format.count(files, "file")), as of \(newest.time.text), \(age) ago")
        Console.message("uploader: uploader pull --database '\(path)' --to '\(from)' --all --output DIR fetches them.")
    }
}
