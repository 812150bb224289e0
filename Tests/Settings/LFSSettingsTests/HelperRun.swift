import Foundation
import TestSupport
import Testing

/// A run of `settings-helper`, which is built next to these tests.
struct HelperRun: Sendable {
    enum Kind: String, CaseIterable, Sendable {
        case kill, EIO, ENOSPC, EMFILE, short
    }

    /// The result of a run.
    struct Result: Sendable {
        let status: Int32
        /// `ok` or an error code. Nil if the process was killed.
        let word: String?
        let operations: Int
        let hasFired: Bool
        /// The lines that the process printed.
        let lines: [Substring]

        /// The output of a process that failed, such as a sanitizer's report. Empty after success.
        var report: String { status == 0 ? "" : lines.joined(separator: "\n") }
    }

    let folder: URL
    let arguments: [String]

    init(_ command: String, in folder: URL, arguments: String...) {
        self.init(command, in: folder, arguments: arguments)
    }

    init(_ command: String, in folder: URL, arguments: [String]) {
        self.folder = folder
        self.arguments = [command, folder.path] + arguments
    }

    /// Runs the helper to its end.
    func finish(environment: [String: String]? = nil) async throws -> Result { try await run(environment: environment) }

    /// Runs the helper so that the n-th operation on a file below its folder fails. With 0 none fails.
    ///
    /// - Parameter below: a subfolder. If set, only operations on its files count.
    func finish(failing number: Int, _ kind: Kind, below: String? = nil) async throws -> Result {
        var environment = ProcessInfo.processInfo.environment
        // The fault library comes after any library that a sanitizer needs.
        let libraries = [environment["LD_PRELOAD"], try FaultLibrary.path.get()]
        environment["LD_PRELOAD"] = libraries.compactMap(\.self).filter { !$0.isEmpty }.joined(separator: ":")
        environment["LFS_FAULT_ROOT"] = below.map { folder.child($0).path } ?? folder.path
        environment["LFS_FAULT_KIND"] = kind.rawValue
        environment["LFS_FAULT_AT"] = String(number)
        return try await run(environment: environment)
    }

    /// Runs the steps of `settings-helper steps` and returns the output of each.
    func steps(environment: [String: String]) async throws -> [String] {
        let (status, lines) = try await lines(environment)
        try #require(status == 0, "It ended with \(status): \(lines)")
        return lines.filter { $0.hasPrefix("> ") }.map { String($0.dropFirst(2)) }
    }

    private func run(environment: [String: String]?) async throws -> Result {
        let (status, lines) = try await lines(environment)
        let end = lines.suffix(3)
        let numbers = end.dropFirst().compactMap { $0.split(separator: " ").last.flatMap { Int($0) } }
        if status == 0 { try #require(numbers.count == 2, "It said: \(lines)") }
        return Result(
            status: status, word: status == 0 ? end.first.map(String.init) : nil, operations: numbers.first ?? 0,
            hasFired: status == 128 + 9 || numbers.last == 1, lines: lines)
    }

    /// Runs the helper to its end and returns its exit status.
    ///
    /// - Parameter output: the pipe that receives its output.
    func status(output: URL) async throws -> Int32 {
        var run = ToolRun(Self.path, arguments: arguments)
        run.output = output
        return try await run.finish()
    }

    private func lines(_ environment: [String: String]?) async throws -> (status: Int32, lines: [Substring]) {
        var run = ToolRun(Self.path, arguments: arguments)
        run.environment = environment
        let output = FileManager.default.temporaryDirectory.appendingPathComponent("lfs-helper-\(UUID().uuidString)")
        run.output = output
        let status = try await run.finish()
        let lines = String(decoding: try Data(contentsOf: output), as: UTF8.self).split(separator: "\n")
        try FileManager.default.removeItem(at: output)
        return (status, lines)
    }

    private static let path: String = {
        let bundle = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
        var folder = bundle.deletingLastPathComponent()
        // On Apple platforms the bundle is a folder with the executable deep in it.
        while folder.path != "/", !FileManager.default.fileExists(atPath: folder.child("settings-helper").path) {
            folder.deleteLastPathComponent()
        }
        return folder.child("settings-helper").path
    }()
}

/// The library of Tests/Faults, built once per test run. Linux only.
enum FaultLibrary {
    private struct NotBuilt: Error {
        let source: String
    }

    static let path: Result<String, any Error> = Result {
        let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().child("Faults").child("faults.c")
        let library = FileManager.default.temporaryDirectory
            .appendingPathComponent("lfs-faults-\(UUID().uuidString).so")
        let isBuilt = try runTool(
            "clang", arguments: ["-shared", "-fPIC", "-O1", "-o", library.path, source.path, "-ldl"])
        guard isBuilt else { throw NotBuilt(source: source.path) }
        return library.path
    }
}
