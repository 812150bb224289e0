import Foundation
import Testing

/// The built `lfs-server` with a sync database. `LFS_SERVER` is its path.
final class SyncServerProcess {
    static let path = ProcessInfo.processInfo.environment["LFS_SERVER"]

    private let folder: URL
    private let port: UInt16
    private var process: Process?

    var url: String { "http://127.0.0.1:\(port)" }

    /// Starts the server with the database `sync.sqlite` in the folder.
    init(in folder: URL) throws {
        self.folder = folder
        port = try ReservedPort().number
        try start()
    }

    deinit { kill() }

    /// Creates a session of the account and returns its token.
    func addSession(account: String = "ann") throws -> String {
        let output = folder.appendingPathComponent(".session")
        try Data().write(to: output)
        let process = try Self.process(
            ["session", "add", "--database", "sync.sqlite", "--account", account], folder: folder, output: output)
        process.waitUntilExit()
        try #require(process.terminationStatus == 0)
        let lines = String(decoding: try Data(contentsOf: output), as: UTF8.self).split(separator: "\n")
        return String(try #require(lines.last))
    }

    /// Changes a limit of the account.
    func setQuota(_ arguments: String..., account: String = "ann") throws {
        let output = folder.appendingPathComponent(".quota")
        try Data().write(to: output)
        let command = ["account", "quota", "--database", "sync.sqlite", "--account", account]
        let process = try Self.process(command + arguments, folder: folder, output: output)
        process.waitUntilExit()
        try #require(process.terminationStatus == 0)
    }

    /// Returns the help of a command of the server.
    static func help(_ command: [String], in folder: URL) throws -> String {
        let output = folder.appendingPathComponent(".help")
        try Data().write(to: output)
        let process = try Self.process(["help"] + command, folder: folder, output: output)
        process.waitUntilExit()
        return String(decoding: try Data(contentsOf: output), as: UTF8.self)
    }

    func start() throws {
        let output = folder.appendingPathComponent(".server")
        try Data().write(to: output)
        let arguments = ["serve", "--listen", "127.0.0.1:\(port)", "--database", "sync.sqlite"]
        let process = try Self.process(arguments, folder: folder, output: output)
        self.process = process
        // The server prints its URL when it listens.
        while process.isRunning, try !String(decoding: Data(contentsOf: output), as: UTF8.self).contains("http:") {
            usleep(2_000)
        }
        try #require(process.isRunning)
    }

    /// Kills the server, as a power cut does.
    func kill() {
        guard let process else { return }
        Foundation.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        self.process = nil
    }

    /// Terminates the server.
    ///
    /// - Returns: its exit status.
    func stop() throws -> Int32 {
        let process = try #require(process)
        process.terminate()
        process.waitUntilExit()
        self.process = nil
        return process.terminationStatus
    }

    private static func process(_ arguments: [String], folder: URL, output: URL) throws -> Process {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: try #require(path))
        process.arguments = arguments
        process.currentDirectoryURL = folder
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = try FileHandle(forWritingTo: output)
        process.standardError = try FileHandle(forWritingTo: folder.appendingPathComponent(".server-log").made())
        try process.start()
        return process
    }
}

extension URL {
    fileprivate func made() throws -> URL {
        if !FileManager.default.fileExists(atPath: path) { try Data().write(to: self) }
        return self
    }
}
