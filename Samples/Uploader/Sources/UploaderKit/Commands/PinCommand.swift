import ArgumentParser
import LFS

struct PinCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pin", abstract: "Protect the local copies of files from being freed.",
        discussion: """
            Missing local copies are not downloaded. A file that is pushed again with other
            content stays pinned. 'uploader help names' explains the names.

            EXAMPLES
              Keep the photos of one folder on this device:
                uploader pin --database photos.sqlite ~/Pictures/2026
              Show what is pinned:
                uploader list --database photos.sqlite --pinned
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
        commandName: "unpin", abstract: "Allow the local copies of files to be freed again.",
        discussion: """
            'uploader help names' explains the names.

            EXAMPLES
              Unpin a folder, and free its copies:
                uploader unpin --database photos.sqlite ~/Pictures/2026
                uploader free --database photos.sqlite ~/Pictures/2026
            """)

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var files: NameArguments

    func validate() throws { try files.require() }

    func run() async throws {
        try await LocalRun.run(database, naming: FileNaming(files.names)) { lfs, ids in try await lfs.unpin(ids) }
    }
}
