import BenchKit
import Foundation
import Testing

/// The built command, run as a user runs it.
enum BenchProcess {
    /// Runs a command of `lfs-bench`, which must succeed and remove its files.
    ///
    /// - Returns: its output.
    static func run(_ arguments: [String], environment: [String: String] = [:]) throws -> String {
        let result = try result(arguments, environment: environment)
        #expect(result.succeeded, "\(result.reason())")
        return result.output
    }

    /// Runs a command as ``run(_:environment:)`` does, but it must fail.
    ///
    /// - Returns: the reason of the failure.
    static func failure(of arguments: String...) throws -> String {
        let result = try result(arguments)
        #expect(!result.succeeded)
        return result.reason()
    }

    private static func result(_ arguments: [String], environment: [String: String] = [:]) throws -> ChildResult {
        try withRunner { runner, folder in
            var command = ChildCommand(path, arguments: arguments, environment: ProcessInfo.processInfo.environment)
            command.environment.merge(environment) { _, new in new }
            command.environment["TMPDIR"] = folder
            let result = try runner.run(command)
            #expect(Set(try FileManager.default.contentsOfDirectory(atPath: folder)) == ["output", "messages"])
            return result
        }
    }

    /// Returns the report that a command prints with `--json`.
    static func report<Report: Decodable>(_ type: Report.Type, arguments: String...) throws -> Report {
        try JSONDecoder().decode(type, from: Data(try run(arguments + ["--json"]).utf8))
    }

    /// The package manager builds the command next to the test bundle.
    private static let path = URL(fileURLWithPath: ProcessInfo.processInfo.arguments[0])
        .deletingLastPathComponent().appendingPathComponent("lfs-bench").path
}
