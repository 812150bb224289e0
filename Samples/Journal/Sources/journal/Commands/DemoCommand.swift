import ArgumentParser
import Foundation
import JournalStorage
import LFS
import LFSStorage

/// The command that fills a journal with demonstration data.
struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo", abstract: "Fills a journal with sample records and generated pictures.",
        discussion: "The same seed gives the same records and pictures. Their times count back from now.")

    @Option(help: "The number of records.")
    var records = 500

    @Option(help: "The number of pictures. They are spread over the records.")
    var pictures = 200

    @Option(help: "The maximum number of concurrent uploads to the storage.")
    var uploads = 10

    @Flag(help: "Wait until all pictures are on the storage.")
    var wait = false

    @Option(help: "The seed of the records and pictures.")
    var seed: UInt64 = 1

    @OptionGroup var target: JournalOptions

    func validate() throws {
        guard (0...100_000).contains(records), (0...100_000).contains(pictures) else {
            throw ValidationError("--records and --pictures have to be numbers from 0 to 100000.")
        }
        guard (1...1_000).contains(uploads) else {
            throw ValidationError("--uploads has to be a number from 1 to 1000.")
        }
        guard !wait || target.folder == nil else { throw ValidationError("--wait is for a database only.") }
        guard records > 0 || pictures == 0 else { throw ValidationError("--pictures needs at least one record.") }
    }

    func run() async throws { try await run { $0 } }

    /// Runs the command on a wrapper of its storage.
    func run(wrapping wrap: (any RemoteStorage) -> any RemoteStorage) async throws {
        let demo = DemoJournal(records: records, pictures: pictures, seed: seed, until: Date(), timeZone: .current)
        let waits = wait
        try await target.use(uploads: uploads, wrapping: wrap) { journal in
            try await demo.fill(journal)
            guard waits, let database = journal as? DatabaseStorageService else { return }
            let summary = try await database.lfs.waitForUploads()
            guard summary.failures.isEmpty else {
                Console.error("\(summary.failures.count) pictures could not be uploaded.")
                throw ExitCode.failure
            }
        }
        Console.print("\(records) records, \(pictures) pictures, \(demo.tags.count) tags.")
    }
}
