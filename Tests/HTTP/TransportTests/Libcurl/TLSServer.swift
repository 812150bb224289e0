import Foundation
import TestSupport

/// OpenSSL's server, which answers every request with a page.
final class TLSServer {
    let port: Int
    private let process = Process()

    /// - Parameters:
    ///   - authority: the authority of the clients' certificates, or nil for a server that does not ask for one.
    ///   - arguments: further arguments of `openssl s_server`.
    init(_ identity: TestAuthority.Identity, requiring authority: TestAuthority? = nil, arguments: [String] = [])
        throws
    {
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        let required = authority.map { ["-Verify", "2", "-verify_return_error", "-CAfile", $0.certificate.path] } ?? []
        process.arguments =
            [
                "openssl", "s_server", "-www", "-accept", "127.0.0.1:0", "-cert", identity.certificate.path, "-key",
                identity.key.path,
            ] + required + arguments
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = FileHandle.nullDevice
        try process.start()
        // OpenSSL prints `ACCEPT 127.0.0.1:PORT` when it listens.
        var text = ""
        while !text.contains("ACCEPT") || !text.hasSuffix("\n") {
            let more = pipe.fileHandleForReading.availableData
            if more.isEmpty { break }
            text += String(decoding: more, as: UTF8.self)
        }
        port = text.split(separator: "\n").last?.split(separator: ":").last.flatMap { Int($0) } ?? 0
    }

    func end() {
        // The process has inherited a signal mask that blocks SIGTERM.
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }
}
