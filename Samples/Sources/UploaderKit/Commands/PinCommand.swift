import ArgumentParser
import LFS

struct PinCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pin", abstract: "Keep the local copies of files from being freed.",
        discussion: """
            It does not fetch them. A file that is pushed with other content stays pinned.

            \(FileNaming.discussion)
            """)

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var files: NameArguments

    func validate() throws { try files.require() }

    func run() async throws {
        try await LocalRun.run(database, naming: FileNaming(files.names)) { lfs, ids in try await lfs.pin(ids) }
    }
}

struct UnpinCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unpin", abstract: "Let the local copies of files be freed again.",
        discussion: FileNaming.discussion)

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var files: NameArguments

    func validate() throws { try files.require() }

    func run() async throws {
        try await LocalRun.run(database, naming: FileNaming(files.names)) { lfs, ids in try await lfs.unpin(ids) }
    }
}
