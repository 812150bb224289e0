import Foundation
import Testing

/// The command-line programs of PostgreSQL.
enum PostgresTool {
    static func run(_ name: String, arguments: [String]) throws {
        let folder = URL(fileURLWithPath: "/usr/lib/postgresql")
        let versions = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
        let program = folder.appending(path: "\(try #require(versions.last))/bin/\(name)")
        _ = try run(program, arguments: arguments)
    }

    /// Writes the objects of a schema to a file, without their owners.
    static func dump(_ schema: String, to file: URL) throws {
        let endpoint = try #require(TestStore.endpoint)
        try run("pg_dump", arguments: ["--no-owner", "--schema", schema, "--file", file.path, endpoint])
    }

    /// `Process` waits until every process that inherited its descriptors has ended, so a started server must not
    /// inherit them.
    private static let closing = """
        for open in /proc/$$/fd/*; do
            [ "${open##*/}" -le 2 ] || eval "exec ${open##*/}>&-"
        done
        exec "$0" "$@"
        """

    /// - Returns: the output of the program.
    fileprivate static func run(_ program: URL, arguments: [String]) throws -> String {
        let output = FileManager.default.temporaryDirectory.appending(path: "tool-\(UUID().uuidString)")
        try Data().write(to: output)
        defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: output) } }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/bash")
        process.arguments = ["-c", closing, program.path] + arguments
        // The output is a file, because a started server inherits it and would keep a pipe open.
        process.standardOutput = try FileHandle(forWritingTo: output)
        try process.start()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0, "\(program.lastPathComponent)")
        return String(decoding: try Data(contentsOf: output), as: UTF8.self)
    }
}

/// A second PostgreSQL cluster, as on another machine. It has the same password as the first.
enum OtherCluster {
    /// - Parameter body: receives the cluster's URL.
    static func run(_ body: (_ url: String) async throws -> Void) async throws {
        let servers = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent().appending(path: "Tests/Servers")
        let folder = FileManager.default.temporaryDirectory.appending(path: "cluster-\(UUID().uuidString)")
        let printed = try PostgresTool.run(servers.appending(path: "start"), arguments: ["postgres", folder.path])
        let result: Result<Void, any Error>
        do {
            let url = try #require(printed.firstMatch(of: /endpoint='([^']+)'/)).1
            result = .success(try await body(String(url)))
        } catch {
            result = .failure(error)
        }
        _ = try PostgresTool.run(servers.appending(path: "stop"), arguments: [folder.path])
        try FileManager.default.removeItem(at: folder)
        try result.get()
    }
}
