import ArgumentParser

/// How old something is, as it is written on the command line: a number of days, or a time such as `12h` or `3d`.
struct Age: ExpressibleByArgument, Sendable {
    let duration: Duration

    /// nil for anything else, and for more than a hundred years.
    init?(argument: String) {
        if let days = Double(argument) {
            guard (0...36_500).contains(days) else { return nil }
            duration = .seconds(days * 86_400)
        } else if let time = TimeSpan(argument: argument)?.duration {
            duration = time
        } else {
            return nil
        }
    }
}
