import Foundation

/// A loader that pushes the rows of ``SyncMaker`` into another database of the server, as devices do. It creates new
/// sessions and replaces the file of tokens.
package struct SyncLoader: Sendable {
    /// The path of the server program.
    package var server: String
    /// The URL of the database.
    package var database: String
    package var rows: Int
    package var sessions: Int
    /// The folder in which ``SyncMaker`` has created its files.
    package var folder: String

    package init(server: String, database: String, rows: Int, sessions: Int, folder: String) {
        self.server = server
        self.database = database
        self.rows = rows
        self.sessions = sessions
        self.folder = folder
    }

    /// - Throws: `BenchError`.
    package func run() throws {
        // Earlier runs have left their accounts in the database.
        let account = "ann-\(UUID().uuidString)"
        let writer = try token(account)
        let process = try SyncServerProcess(
            server, in: folder, database: database, options: ["--requests-per-second", "1000000"])
        defer { process.stop() }
        for start in stride(from: 0, to: rows, by: Self.batch) {
            let lines = (start..<min(start + Self.batch, rows)).map {
                SyncMaker.line($0, sequence: $0 + 1, title: "Note")
            }
            let reply = try SyncSocket(port: process.port, path: "push", token: writer, body: lines.joined()).whole()
            guard reply.components(separatedBy: "\"result\":\"applied\"").count == lines.count + 1 else {
                throw BenchError("The server has not taken the rows: \(reply.suffix(500))")
            }
        }
        let tokens = [writer, try token(account + "-other")] + (try (0..<sessions).map { _ in try token(account) })
        try Data(tokens.joined(separator: "\n").utf8)
            .write(to: URL(fileURLWithPath: "\(folder)/\(SyncMaker.tokens)"))
    }

    private static let batch = 500

    /// Creates a session and returns its token.
    private func token(_ account: String) throws -> String {
        let (process, output) = (Process(), Pipe())
        process.executableURL = URL(fileURLWithPath: server)
        process.arguments = [
            "session", "add", "--database", database, "--schema-from", SyncMaker.schema, "--account", account,
        ]
        process.currentDirectoryURL = URL(fileURLWithPath: folder)
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0, let token = text.split(separator: "\n").last else {
            throw BenchError("The server makes no session: status \(process.terminationStatus).")
        }
        return String(token)
    }
}
