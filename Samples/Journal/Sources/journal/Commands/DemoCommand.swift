import ArgumentParser
import Foundation
import JournalStorage

/// Fills a journal with something to look at.
struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo", abstract: "Fills a journal with records and generated pictures, and ends.",
        discussion: "The same seed gives the same records and pictures, counted back from now.")

    @Option(help: "How many records to make.")
    var records = 500

    @Option(help: "How many pictures to make; they are spread over the records.")
    var pictures = 200

    @Option(help: "What the records and pictures are made from.")
    var seed: UInt64 = 1

    @OptionGroup var target: TargetOptions

    func validate() throws {
        guard (0...100_000).contains(records), (0...100_000).contains(pictures) else {
            throw ValidationError("--records and --pictures have to be numbers from 0 to 100000.")
        }
        guard records > 0 || pictures == 0 else { throw ValidationError("--pictures needs at least one record.") }
    }

    func run() async throws {
        let demo = DemoJournal(records: records, pictures: pictures, seed: seed, until: Date(), timeZone: .current)
        try await target.open().use { try await demo.fill($0) }
        Console.print("\(records) records, \(pictures) pictures, \(demo.tags.count) tags.")
    }
}
