import Foundation
import Testing

#if canImport(Glibc)
import Glibc
#endif

/// A running `lfs-server serve` without a terminal, whose log goes to a file.
struct ServerProcess: Sendable {
    /// The path of the program, which is built into the folder of the tests.
    static let program = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        .appendingPathComponent("lfs-server").path

    /// The first line of the output, which is the address of the server.
    let line: String
    let id: Int32
    private let logPath: String

    /// Runs a server while the body runs, and ends it.
    ///
    /// - Parameters:
    ///   - folder: a folder for the log.
    ///   - body: runs when the server listens.
    /// - Returns: the exit status of the server.
    @discardableResult static func run(
        in folder: URL, arguments: [String], environment: [String: String] = [:],
        _ body: (ServerProcess) async throws -> Void
    ) async throws -> Int32 {
        let process = Process()
        let output = Pipe()
        let number = folder.appending(path: "pid")
        let errors = folder.appending(path: "log-\(UUID().uuidString)")
        try Data().write(to: errors)
        process.executableURL = URL(filePath: "/usr/bin/setsid")
        process.arguments =
            ["--wait", "/bin/sh", "-c", "echo $$ > '\(number.path)'; exec \"$0\" serve \"$@\"", program] + arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { _, new in new }
        process.standardOutput = output
        process.standardError = try FileHandle(forWritingTo: errors)
        try process.start()
        let line = try await blocking { String(decoding: output.fileHandleForReading.availableData, as: UTF8.self) }
        let text = try String(contentsOf: number, encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines)
        let server = ServerProcess(line: line, id: try #require(Int32(text)), logPath: errors.path)
        let result: Result<Void, any Error>
        do {
            let log = try server.log()
            #expect(!line.isEmpty, "\(log)")
            result = .success(try await body(server))
        } catch {
            result = .failure(error)
        }
        kill(server.id, SIGTERM)
        try await blocking { process.waitUntilExit() }
        try result.get()
        return process.terminationStatus
    }

    /// Returns the log up to now.
    func log() throws -> String { String(decoding: try Data(contentsOf: URL(filePath: logPath)), as: UTF8.self) }

    /// The routes of the server. The address needs a port, which `--listen 127.0.0.1:0` without a storage prints.
    var routes: RunningServer {
        get throws { RunningServer(port: try #require(URL(string: line.trimmingCharacters(in: .newlines))?.port)) }
    }

    /// The routes of the listener that the log contains at this position, as the listeners start in any order.
    func listeners() throws -> [RunningServer] {
        try log().matches(of: /listening on 127\.0\.0\.1:(\d+)/).compactMap { Int($0.1) }.map(RunningServer.init)
    }
}

/// Calls a condition until it is true. The time limit of the suite ends a wait that has no end.
func eventually(_ condition: () async throws -> Bool) async throws {
    while try await !condition() { try await Task.sleep(for: .milliseconds(20)) }
}
