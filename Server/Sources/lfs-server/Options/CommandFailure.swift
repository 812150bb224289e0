/// A failure of a command whose command line is valid. The process ends with status 1, and prints no usage.
struct CommandFailure: Error, CustomStringConvertible {
    /// A sentence that says how to fix the problem.
    let description: String

    init(_ description: String) { self.description = description }
}
