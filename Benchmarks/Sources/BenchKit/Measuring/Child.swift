/// A process to start: the executable, its arguments and its environment.
package struct ChildCommand: Sendable {
    /// A path. It is not looked up in PATH.
    package var executable: String
    package var arguments: [String]
    package var environment: [String: String]

    package init(_ executable: String, arguments: [String], environment: [String: String] = [:]) {
        self.executable = executable
        self.arguments = arguments
        self.environment = environment
    }
}

/// The resources that a process used.
package struct Cost: Codable, Equatable, Sendable {
    package var wallSeconds: Double
    package var userSeconds: Double
    package var systemSeconds: Double
    /// The peak resident memory. It is at least the peak of this process at the start of the child, because Linux keeps
    /// that maximum across `exec`.
    package var peakBytes: Int64

    package var cpuSeconds: Double { userSeconds + systemSeconds }

    package init(wallSeconds: Double, userSeconds: Double, systemSeconds: Double, peakBytes: Int64) {
        self.wallSeconds = wallSeconds
        self.userSeconds = userSeconds
        self.systemSeconds = systemSeconds
        self.peakBytes = peakBytes
    }
}

/// The result of a process.
package struct ChildResult: Sendable {
    /// The exit status, or 128 plus the number of the signal that ended the process.
    package var status: Int32
    package var cost: Cost
    package var output: String
    package var messages: String

    package var succeeded: Bool { status == 0 }

    /// Returns the exit status and the last lines of the output as text.
    package func reason(lines: Int = 10) -> String {
        let ending = status > 128 ? "it was ended by signal \(status - 128)" : "it ended with status \(status)"
        let text = messages.isEmpty ? output : messages
        let last = text.split(whereSeparator: \.isNewline).suffix(lines).map { "  \($0)" }
        return last.isEmpty ? "\(ending) and said nothing." : "\(ending):\n\(last.joined(separator: "\n"))"
    }
}
