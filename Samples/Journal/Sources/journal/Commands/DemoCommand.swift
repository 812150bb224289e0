import ArgumentParser
import Foundation
import JournalStorage

/// The command that fills a journal with demonstration data.
struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo", abstract: "Fills a journal with sample records and generated pictures.",
        discussion: "The same seed gives the same records and pictures. Their times count back from now.")

    @Option(help: "The number of records.")
    var records = 500

    @Option(help: "The number of pictures. They are spread over the records.")
    var pictures = 200

    @Option(help: "The seed of the records and pictures.")
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
