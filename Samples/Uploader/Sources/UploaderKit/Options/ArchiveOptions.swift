import ArgumentParser
import LFSS3

/// The options of `pull` for objects that a rule of the bucket has moved to an archive.
struct ArchiveOptions: ParsableArguments {
    /// The speed of a restore, as on the command line.
    enum Speed: String, ExpressibleByArgument, CaseIterable {
        case expedited, standard, bulk

        var tier: S3Storage.RestoreTier {
            switch self {
            case .expedited: .expedited
            case .standard: .standard
            case .bulk: .bulk
            }
        }
    }

    @Flag(
        name: .long,
        help: "Request the restore of files that are archived on S3, which is billed. A later pull writes them.")
    var restoreArchived = false

    @Option(
        name: .long,
        help: ArgumentHelp("Keep restored objects readable for this number of days.", valueName: "days"))
    var restoreDays = 7

    @Option(
        name: .long,
        help: ArgumentHelp("The speed of restores: expedited, standard or bulk, the cheapest.", valueName: "speed"))
    var restoreSpeed = Speed.standard

    func validate() throws {
        guard restoreDays > 0 else { throw ValidationError("--restore-days is at least 1.") }
    }
}
