import Foundation

/// Runs a measurement in a process of its own: this program with the hidden subcommand `probe`. Memory and processor
/// time are those of one run then, and no run inherits the caches of the one before.
struct ProbeRunner {
    var runner: ChildRunner
    var environment: [String: String]

    /// - Parameter arguments: those behind `probe`.
    /// - Returns: what the process has told as JSON, and what it has cost.
    /// - Throws: `BenchError` when it fails, `Interrupted`.
    func run<Value: Decodable>(_ arguments: [String], as type: Value.Type) throws -> (value: Value, cost: Cost) {
        let result = try runner.run(command(arguments))
        guard result.succeeded else { throw BenchError("The probe \(arguments[0]) failed: \(result.reason())") }
        return (try JSONDocument.value(type, from: result.output), result.cost)
    }

    /// As ``run(_:as:)``, for what tells nothing.
    func run(_ arguments: [String]) throws {
        let result = try runner.run(command(arguments))
        guard result.succeeded else { throw BenchError("The probe \(arguments[0]) failed: \(result.reason())") }
    }

    /// - Parameter arguments: those behind `probe`.
    func command(_ arguments: [String]) throws -> ChildCommand {
        ChildCommand(try Self.program(), ["probe"] + arguments, environment: environment)
    }

    /// The path of this program.
    static func program() throws -> String {
        guard let program = Bundle.main.executablePath else { throw BenchError("This program does not find itself.") }
        return program
    }
}
