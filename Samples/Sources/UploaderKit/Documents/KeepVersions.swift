import Foundation

/// How long the old version of a changed file stays on the storage, from its replacement on.
enum KeepVersions: Hashable, Sendable {
    /// It goes as soon as the new one is there.
    case none
    case forever
    case time(TimeSpan)

    /// `none`, `forever`, or a time as `90s`, `30m`, `2h`, `30d`; nil for anything else.
    init?(_ text: String) {
        switch text {
        case "none": self = .none
        case "forever": self = .forever
        default:
            guard let time = TimeSpan(argument: text), time.duration != nil else { return nil }
            self = .time(time)
        }
    }

    /// As it is written on the command line, and in the database.
    var text: String {
        switch self {
        case .none: "none"
        case .forever: "forever"
        case .time(let time): time.description
        }
    }

    /// Nil for ever.
    var seconds: Double? {
        switch self {
        case .none: 0
        case .forever: nil
        case .time(let time): (time.duration ?? .zero) / .seconds(1)
        }
    }

    /// For people, after the number of versions.
    var words: String {
        switch self {
        case .none: "none is kept"
        case .forever: "kept for ever"
        case .time(let time): "kept for \(time)"
        }
    }
}
