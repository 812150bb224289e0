import BenchKit
import Foundation
import Testing

/// The built command, run as a person runs it.
enum BenchProcess {
    /// Runs a command of `lfs-bench`, which has to succeed and to take its files away.
    ///
    /// - Returns: what it printed.
    static func run(_ arguments: [String], environment: [String: String] = [:]) throws -> String {
        let result = try result(arguments, environment: environment)
        #expect(result.succeeded, "\(result.reason())")
        return result.output
    }

    /// As ``run(_:environment:)``, for one that has to fail.
    ///
    /// - Returns: why it failed.
    static func failure(of arguments: String...) throws -> String {
        let result = try result(arguments)
        #expect(!result.succeeded)
        return result.reason()
    }

    private static func result(_ arguments: [String], environment: [String: String] = [:]) throws -> ChildResult {
        try withRunner { runner, folder in
            var command = ChildCommand(path, arguments, environment: ProcessInfo.processInfo.environment)
            command.environment.merge(environment) { _, new in new }
            command.environment["TMPDIR"] = folder
            let result = try runner.run(command)
            #expect(Set(try FileManager.default.contentsOfDirectory(atPath: folder)) == ["output", "messages"])
            return result
        }
    }

    /// What a command prints with `--json`.
    static func report<Report: Decodable>(_ type: Report.Type, _ arguments: String...) throws -> Report {
        try JSONDecoder().decode(type, from: Data(try run(arguments + ["--json"]).utf8))
    }

    /// Beside the test bundle, where the package manager builds both.
    private static let path = URL(fileURLWithPath: ProcessInfo.processInfo.arguments[0])
        .deletingLastPathComponent().appendingPathComponent("lfs-bench").path
}
