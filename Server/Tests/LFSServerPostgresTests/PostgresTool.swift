import Foundation
import Testing

/// PostgreSQL's own programs.
enum PostgresTool {
    static func run(_ name: String, _ arguments: [String]) throws {
        let folder = URL(fileURLWithPath: "/usr/lib/postgresql")
        let versions = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
        let program = folder.appending(path: "\(try #require(versions.last))/bin/\(name)")
        _ = try run(program, arguments)
    }

    /// `Process` waits for the end of everything that has its own descriptors: a server that goes on running must not.
    private static let closing = """
        for open in /proc/$$/fd/*; do
            [ "${open##*/}" -le 2 ] || eval "exec ${open##*/}>&-"
        done
        exec "$0" "$@"
        """

    /// - Returns: what it has printed.
    fileprivate static func run(_ program: URL, _ arguments: [String]) throws -> String {
        let output = FileManager.default.temporaryDirectory.appending(path: "tool-\(UUID().uuidString)")
        try Data().write(to: output)
        defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: output) } }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/bash")
        process.arguments = ["-c", closing, program.path] + arguments
        // A file, for what goes on running has the same output, and a pipe would not end.
        process.standardOutput = try FileHandle(forWritingTo: output)
        try process.run()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0, "\(program.lastPathComponent)")
        return String(decoding: try Data(contentsOf: output), as: UTF8.self)
    }
}

/// A cluster of PostgreSQL besides the one of the tests, as on another machine. It has the same password.
enum OtherCluster {
    /// - Parameter body: gets its URL.
    static func run(_ body: (_ url: String) async throws -> Void) async throws {
        let servers = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent().appending(path: "Tests/Servers")
        let folder = FileManager.default.temporaryDirectory.appending(path: "cluster-\(UUID().uuidString)")
        let printed = try PostgresTool.run(servers.appending(path: "start"), ["postgres", folder.path])
        let result: Result<Void, any Error>
        do {
            let url = try #require(printed.firstMatch(of: /endpoint='([^']+)'/)).1
            result = .success(try await body(String(url)))
        } catch {
            result = .failure(error)
        }
        _ = try PostgresTool.run(servers.appending(path: "stop"), [folder.path])
        try FileManager.default.removeItem(at: folder)
        try result.get()
    }
}
