import Foundation
import Testing

#if canImport(Glibc)
import Glibc
#endif

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
        port = try Self.freePort()
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

    /// Returns a free port of this machine.
    ///
    /// A socket stays bound to it for the rest of the run, so that no other process gets the port. The server may bind
    /// to it as well, because that socket never listens.
    static func freePort() throws -> UInt16 {
        let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        try #require(socket >= 0)
        var isShared: Int32 = 1
        setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &isShared, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let port: UInt16? = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                guard bind(socket, generic, length) == 0, getsockname(socket, generic, &length) == 0 else { return nil }
                return UInt16(bigEndian: UnsafeRawPointer(generic).load(as: sockaddr_in.self).sin_port)
            }
        }
        return try #require(port)
    }
}

extension URL {
    fileprivate func made() throws -> URL {
        if !FileManager.default.fileExists(atPath: path) { try Data().write(to: self) }
        return self
    }
}
