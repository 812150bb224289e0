import ArgumentParser
import LFS

struct PinCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pin", abstract: "Keep the local copies of files from being freed.",
        discussion: "It does not fetch them. 'list' shows the ids.")

    @OptionGroup var database: DatabaseOptions

    @Argument(help: ArgumentHelp("The ids of the files.", valueName: "id"))
    var ids: [String]

    func run() async throws { try await LocalRun.run(database) { lfs in try await lfs.pin(ids.map(FileID.named)) } }
}

struct UnpinCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unpin", abstract: "Let the local copies of files be freed again.")

    @OptionGroup var database: DatabaseOptions

    @Argument(help: ArgumentHelp("The ids of the files.", valueName: "id"))
    var ids: [String]

    func run() async throws {
        try await LocalRun.run(database) { lfs in try await lfs.unpin(ids.compactMap { FileID($0) }) }
    }
}
