import Foundation

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A process `lfs-server serve` on this machine, with the databases of a folder. It ends with this process, also after
/// a signal.
final class SyncServerProcess {
    let url: String
    let port: UInt16
    private let process: Process
    private let interruption: Interruption

    /// Starts the server, and returns when it listens.
    ///
    /// - Parameter database: the database, or nil for the file in the folder.
    /// - Throws: `BenchError` with the server's output if it does not start.
    init(
        _ executable: String, in folder: String, database: String? = nil, options: [String] = []
    ) throws {
        let port = try Self.freePort()
        self.port = port
        url = "http://127.0.0.1:\(port)"
        let (output, messages) = (
            URL(fileURLWithPath: "\(folder)/server-output"), URL(fileURLWithPath: "\(folder)/server-messages")
        )
        for file in [output, messages] { try Data().write(to: file) }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: executable)
        process.arguments =
            [
                "serve", "--listen", "127.0.0.1:\(port)", "--database", database ?? SyncMaker.database,
                "--schema-from", SyncMaker.schema,
            ] + options
        process.currentDirectoryURL = URL(fileURLWithPath: folder)
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = try FileHandle(forWritingTo: output)
        process.standardError = try FileHandle(forWritingTo: messages)
        try process.run()
        self.process = process
        let child = process.processIdentifier
        interruption = Interruption { signal in
            kill(child, SIGKILL)
            _exit(128 + signal)
        }
        // The server prints its URL when it listens.
        while process.isRunning, try !String(decoding: Data(contentsOf: output), as: UTF8.self).contains("http:") {
            usleep(2_000)
        }
        guard process.isRunning else {
            let text = String(decoding: try Data(contentsOf: messages), as: UTF8.self)
            throw BenchError("The server does not start: \(text.suffix(2_000))")
        }
    }

    deinit { stop() }

    func stop() {
        guard process.isRunning else { return }
        process.terminate()
        process.waitUntilExit()
    }

    func memory() throws -> ProcessMemory { try ProcessMemory(of: process.processIdentifier) }

    /// Returns the number of open descriptors of the database.
    func connections() throws -> Int {
        let folder = "/proc/\(process.processIdentifier)/fd"
        return try FileManager.default.contentsOfDirectory(atPath: folder).count { name in
            // A descriptor that was closed in the meantime cannot be resolved.
            let file = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\(name)")
            return file?.hasSuffix("/\(SyncMaker.database)") == true
        }
    }

    /// Returns the user and system time so far (proc_pid_stat(5), fields 14 and 15).
    func cpuSeconds() throws -> Double {
        let text = try String(contentsOfFile: "/proc/\(process.processIdentifier)/stat", encoding: .utf8)
        let fields = text.split(separator: ")").last?.split(separator: " ") ?? []
        guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else {
            throw BenchError("The system does not tell the server's processor time.")
        }
        return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    private static func freePort() throws -> UInt16 {
        #if canImport(Glibc)
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #else
        let descriptor = socket(AF_INET, SOCK_STREAM, 0)
        #endif
        guard descriptor >= 0 else { throw BenchError("No socket can be made.") }
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let port: UInt16? = withUnsafeMutableBytes(of: &address) { bytes in
            guard let generic = bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self),
                bind(descriptor, generic, length) == 0, getsockname(descriptor, generic, &length) == 0
            else { return nil }
            return UInt16(bigEndian: bytes.load(as: sockaddr_in.self).sin_port)
        }
        guard let port else { throw BenchError("No port is free.") }
        return port
    }
}

/// The resident memory of a process (proc_pid_status(5)).
struct ProcessMemory {
    /// The current resident memory (VmRSS), in bytes.
    let now: Int64
    /// The peak resident memory (VmHWM), in bytes.
    let peak: Int64

    init(of process: Int32 = getpid()) throws {
        let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
        func value(_ name: String) throws -> Int64 {
            let line = status.split(separator: "\n").first { $0.hasPrefix("\(name):") }
            guard let kibibytes = line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap({ Int64($0) })
            else { throw BenchError("The system does not tell \(name) of a process.") }
            return kibibytes * 1_024
        }
        now = try value("VmRSS")
        peak = try value("VmHWM")
    }
}
