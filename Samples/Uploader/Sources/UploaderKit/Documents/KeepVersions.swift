import CommandLineOptions

/// The time for which the storage keeps the old version of a changed file after its replacement.
enum KeepVersions: Hashable, Sendable {
    /// The old version is deleted as soon as the new one is on the storage.
    case none
    case forever
    case time(TimeSpan)

    /// Parses `none`, `forever`, or a time of at least 100 ms. Nil for anything else.
    init?(_ text: String) {
        switch text {
        case "none": self = .none
        case "forever": self = .forever
        default:
            guard let time = TimeSpan(argument: text), let duration = time.duration, duration >= .milliseconds(100)
            else {
                return nil
            }
            self = .time(time)
        }
    }

    /// The text for the command line and the database.
    var text: String {
        switch self {
        case .none: "none"
        case .forever: "forever"
        case .time(let time): time.description
        }
    }

    /// The time in seconds. Nil for `forever`.
    var seconds: Double? {
        switch self {
        case .none: 0
        case .forever: nil
        case .time(let time): (time.duration ?? .zero) / .seconds(1)
        }
    }

    /// A text for people that follows the number of versions.
    var words: String {
        switch self {
        case .none: "none is kept"
        case .forever: "kept forever"
        case .time(let time): "kept for \(time)"
        }
    }
}
