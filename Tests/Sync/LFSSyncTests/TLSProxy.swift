import Foundation
import Testing

/// A self-signed certificate of 127.0.0.1 and its key, both as PEM files.
struct TestCertificate: Sendable {
    let certificate: String
    let key: String

    init(_ name: String, in folder: URL) throws {
        certificate = folder.appending(path: "\(name).pem").path
        key = folder.appending(path: "\(name).key").path
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
            "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate,
        ]
        process.standardError = FileHandle.nullDevice
        try process.start()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0)
    }
}

/// `Tests/Servers/tls-proxy` in front of a server of this machine.
///
/// Its creator owns the process.
final class TLSProxy {
    let port: Int
    private let process = Process()
    private let input = Pipe()
    private let record: URL

    /// - Parameter authority: the PEM file of the authority whose certificates clients need, or nil if they need none.
    init(_ certificate: TestCertificate, before serverPort: Int, in folder: URL, requiring authority: URL? = nil)
        throws
    {
        record = folder.appending(path: "record-\(UUID().uuidString)")
        let output = Pipe()
        process.executableURL = try Self.program()
        process.arguments = [certificate.certificate, certificate.key, "\(serverPort)", record.path]
        process.arguments? += authority.map { [$0.path] } ?? []
        process.standardInput = input
        process.standardOutput = output
        try process.start()
        let text = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        port = try #require(Int(text.trimmingCharacters(in: .whitespacesAndNewlines)))
    }

    /// The decrypted bytes that clients have sent.
    var received: String {
        get throws { String(decoding: try Data(contentsOf: record), as: UTF8.self) }
    }

    func stop() throws {
        try input.fileHandleForWriting.close()
        process.waitUntilExit()
    }

    /// Finds the program from any package of this repository in which the file is built.
    private static func program() throws -> URL {
        var folder = URL(fileURLWithPath: #filePath)
        while folder.path != "/" {
            folder.deleteLastPathComponent()
            let program = folder.appending(path: "Tests/Servers/tls-proxy")
            if FileManager.default.fileExists(atPath: program.path) { return program }
        }
        throw CocoaError(.fileNoSuchFile)
    }
}
