import ArgumentParser
import Foundation

struct RecoverCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "recover",
        abstract: "Restore a lost database from a copy on its storage.",
        usage: "uploader recover --from <storage> [<options>]",
        discussion: """
            'push --save-database' keeps copies of the database on the storage. Without
            --database, the copies are listed. With --database, the newest copy is written
            to this path. 'pull' then restores the files. The passphrase is in the variable
            LFS_RECOVERY_PASSPHRASE. A signing server needs the whole --id, which the first
            'push --save-database' prints. See also 'uploader help restoring'.

            EXAMPLES
              List the copies on a storage:
                uploader recover --from dir:/mnt/backup
              Write the newest copy to a file, and restore the files:
                export LFS_RECOVERY_PASSPHRASE='correct horse battery staple'
                uploader recover --from dir:/mnt/backup --database photos.sqlite
                uploader pull --database photos.sqlite --all --output ~/Restored
            """)

    @Option(
        name: .long, help: ArgumentHelp("The storage, in the form of --to.", valueName: "storage"),
        completion: .storage)
    var from: String

    @Option(
        name: .long, help: ArgumentHelp("The path of the restored database. It must not exist.", valueName: "path"),
        completion: .file(), transform: DatabaseFile.path(of:))
    var database: String?

    @Option(name: .long, help: ArgumentHelp("The id of the database, or its first characters.", valueName: "id"))
    var id: String?

    @Option(
        name: .long,
        help: ArgumentHelp("The id of the machine that saved the copy, or its first characters.", valueName: "id"))
    var writer: String?

    @Option(
        name: .long,
        help: ArgumentHelp("The time of the copy, as in the list. By default the newest copy.", valueName: "time"))
    var saved: String?

    @Flag(name: .long, help: "Accept a copy without checking its authentication code.")
    var unauthenticated = false

    @Flag(name: .long, help: "Print one JSON object per copy.")
    var json = false

    private struct Event: Encodable {
        var event: String
        var id: String
        var bytes: Int64
        var saved: String
        var writer: String?
        var files: Int?

        init(_ event: String, copy: RecoveryCopies.Copy, files: Int? = nil) {
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
            try await recover(found, to: database, copies: copies, storage: (location, given))
        }
    }

    private func list(_ found: [RecoveryCopies.Copy]) throws {
        if json {
            for copy in found { Console.result(try Event("copy", copy: copy).jsonLine()) }
            return
        }
        var rows = found.map { [$0.databaseID, $0.time.text, $0.writer ?? "-", Format.bytes($0.byteCount)] }
        if Console.showsResults {
            rows.insert(["database", "saved", "machine", "size"], at: 0)
            let widths = (0..<3).map { column in rows.map { $0[column].utf8.count }.max() ?? 0 }
            for index in rows.indices {
                for (column, width) in widths.enumerated() {
                    rows[index][column] = Format.column(rows[index][column], width: width)
                }
            }
        }
        for row in rows { Console.result(row.joined(separator: "  ")) }
        let several = Set(found.map(\.databaseID)).count > 1
        Console.message("uploader: Give --database FILE\(several ? " and --id" : "") to write the newest one there.")
    }

    private func recover(
        _ found: [RecoveryCopies.Copy], to path: String, copies: RecoveryCopies,
        storage: (location: StorageLocation, given: GivenStorage)
    ) async throws {
        guard let newest = found.last, Set(found.map(\.databaseID)).count == 1 else {
            let ids = Set(found.map(\.databaseID)).sorted().joined(separator: ", ")
            throw UploaderError("The storage has several databases: name one with --id. There are \(ids).")
        }
        let recovery = RecoveredDatabase(path: path, isAuthenticated: !unauthenticated)
        let files = try await recovery.make(from: newest, copies, storage: storage)
        let others = Set(found.compactMap(\.writer)).subtracting([newest.writer].compactMap(\.self))
        if !others.isEmpty {
            Console.message(
                """
                uploader: This is the newest copy. Other machines have saved copies of this database as well, with \
                files of their own: --writer selects one of \(others.sorted().joined(separator: ", ")).
                """)
        }
        // Copies that are saved at the same moment get consecutive times, so a time may be slightly in the future.
        if newest.time.date > Date().addingTimeInterval(Double(RecoveryCopies.kept)) {
            Console.message(
                "uploader: The time of this copy is in the future: a clock was wrong. --saved selects another copy.")
        }
        if json {
            return Console.result(try Event("recovered", copy: newest, files: files).jsonLine())
        }
        let age = Format.time(since: newest.time.date)
        Console.result("\(path): \(Format.count(files, noun: "file")), as of \(newest.time.text), \(age) ago")
        // The recovered database remembers the storage, unless its address contains a secret.
        let isRemembered = storage.given.remembered(at: storage.location) != nil
        let to = isRemembered ? "" : " --to '\(from)'"
        Console.message("uploader: Restore the files with: uploader pull --database '\(path)'\(to) --all --output DIR")
    }
}
