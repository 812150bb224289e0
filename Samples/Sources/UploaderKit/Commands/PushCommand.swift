import ArgumentParser
import Foundation
import GRDB
import LFS

struct PushCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "push",
        abstract: "Attach files and folders, and offload them.",
        discussion: """
            Folders are walked recursively; symbolic links are not followed. Pushing the
            same folder again attaches only what is new or has changed. What an earlier run
            left pending or failed is uploaded as well.
            """)

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var transfer: TransferOptions
    @OptionGroup var output: OutputOptions

    @Flag(
        name: [.customShort("n"), .long, .customLong("dryrun")], help: "Show what would be attached, and do nothing.")
    var dryRun = false

    @Argument(help: ArgumentHelp("Files and folders to attach.", valueName: "file|folder"))
    var paths: [String]

    func validate() throws {
        // An unset variable of a shell must not mean the folder that one happens to be in.
        if paths.contains("") { throw ValidationError("A path is empty. Write . for the current folder.") }
    }

    func run() async throws {
        if dryRun {
            return try DryRun(
                database: database.database, report: Report(output), output: output,
                excluded: transfer.ownPaths(
                    database: URL(fileURLWithPath: database.database).resolvingSymlinksInPath().path)
            ).run(paths)
        }
        let paths = paths
        try await UploadRun.run(database, transfer, output, mustExist: false) { run in
            run.report.walkBegins()
            defer { run.report.walkEnded() }
            try await Attacher(
                database: run.database, lfs: run.lfs, report: run.report, excluded: run.ownPaths, damaged: run.damaged
            )
            .run(paths)
        }
    }
}

/// Shows what a push would attach: no row, no byte and no storage is touched.
struct DryRun {
    let database: String
    let report: Report
    let output: OutputOptions
    let excluded: [String]

    func run(_ paths: [String]) throws {
        let known = try knownStamps()
        var walk = FileWalk(paths, from: FileManager.default.currentDirectoryPath, excluding: excluded)
        var (count, bytes, unreadable): (Int, Int64, Int) = (0, 0, 0)
        while let item = walk.next() {
            switch item {
            case .file(let candidate) where known[candidate.path] != candidate.stamp.text:
                count += 1
                bytes += candidate.stamp.byteCount
                var event = JSONEvent("would-attach")
                (event.path, event.bytes) = (candidate.path.description, candidate.stamp.byteCount)
                report.tell(event, verbose: nil)
                if !output.json { Console.result("\(candidate.path)  \(Format.bytes(candidate.stamp.byteCount))") }
            case .unreadable(let path, let reason):
                unreadable += 1
                report.message("cannot read \(path): \(reason)")
            default: break
            }
        }
        if !output.json { Console.result("\(Format.count(count, "file")) to attach, \(Format.bytes(bytes))") }
        if unreadable > 0 { throw ExitCode(3) }
    }

    private func knownStamps() throws -> [FilePath: String] {
        guard FileManager.default.fileExists(atPath: database) else { return [:] }
        return try DocumentDatabase.openForReading(database).read { db in
            let documents = try Document.fetchAll(db)
            return Dictionary(uniqueKeysWithValues: documents.map { ($0.path, $0.stamp) })
        }
    }
}
