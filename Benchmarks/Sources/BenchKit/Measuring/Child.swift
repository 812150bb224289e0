/// A process to start: what is run, with which arguments and environment.
package struct ChildCommand: Sendable {
    /// A path; it is not looked up in PATH.
    package var executable: String
    package var arguments: [String]
    package var environment: [String: String]

    package init(_ executable: String, _ arguments: [String], environment: [String: String] = [:]) {
        self.executable = executable
        self.arguments = arguments
        self.environment = environment
    }
}

/// What a process cost.
package struct Cost: Codable, Equatable, Sendable {
    package var wallSeconds: Double
    package var userSeconds: Double
    package var systemSeconds: Double
    /// The most memory that was resident at once. Not less than this process had when it started the child, for a
    /// kernel counts the moment before `exec` as well: Linux keeps that maximum across the call.
    package var peakBytes: Int64

    package var cpuSeconds: Double { userSeconds + systemSeconds }

    package init(wallSeconds: Double, userSeconds: Double, systemSeconds: Double, peakBytes: Int64) {
        self.wallSeconds = wallSeconds
        self.userSeconds = userSeconds
        self.systemSeconds = systemSeconds
        self.peakBytes = peakBytes
    }
}

/// How a process ended.
package struct ChildResult: Sendable {
    /// The exit status, or 128 and the number of the signal that ended it.
    package var status: Int32
    package var cost: Cost
    package var output: String
    package var messages: String

    package var succeeded: Bool { status == 0 }

    /// How it ended and the last lines of what it said.
    package func reason(lines: Int = 10) -> String {
        let ending = status > 128 ? "it was ended by signal \(status - 128)" : "it ended with status \(status)"
        let text = messages.isEmpty ? output : messages
        let last = text.split(whereSeparator: \.isNewline).suffix(lines).map { "  \($0)" }
        return last.isEmpty ? "\(ending) and said nothing." : "\(ending):\n\(last.joined(separator: "\n"))"
    }
}
