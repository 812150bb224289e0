import Foundation

/// A runner of measurements in separate processes, which run this program with the hidden subcommand `probe`. Memory
/// and CPU time then belong to one run, and no run inherits caches of an earlier one.
struct ProbeRunner {
    var runner: ChildRunner
    var environment: [String: String]

    /// Runs a probe.
    ///
    /// - Parameter arguments: the arguments after `probe`.
    /// - Returns: the decoded JSON output of the process, and its cost.
    /// - Throws: `BenchError` if the probe fails, `Interrupted`.
    func run<Value: Decodable>(_ arguments: [String], as type: Value.Type) throws -> (value: Value, cost: Cost) {
        let result = try runner.run(command(arguments))
        guard result.succeeded else { throw BenchError("The probe \(arguments[0]) failed: \(result.reason())") }
        return (try JSONDocument.value(type, from: result.output), result.cost)
    }

    /// Runs a probe without output, as ``run(_:as:)`` does.
    func run(_ arguments: [String]) throws {
        let result = try runner.run(command(arguments))
        guard result.succeeded else { throw BenchError("The probe \(arguments[0]) failed: \(result.reason())") }
    }

    /// - Parameter arguments: the arguments after `probe`.
    func command(_ arguments: [String]) throws -> ChildCommand {
        ChildCommand(try Self.program(), arguments: ["probe"] + arguments, environment: environment)
    }

    /// Returns the path of this program.
    static func program() throws -> String {
        guard let program = Bundle.main.executablePath else { throw BenchError("This program does not find itself.") }
        return program
    }
}
