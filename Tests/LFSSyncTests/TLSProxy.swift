import Foundation
import Testing

/// A certificate of 127.0.0.1 that has signed itself, and its key, both as files of PEM.
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
        try process.run()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0)
    }
}

/// `Tests/Servers/tls-proxy` before a server of this machine.
///
/// Owner of its process: whoever has made it.
final class TLSProxy {
    let port: Int
    private let process = Process()
    private let input = Pipe()
    private let record: URL

    init(_ certificate: TestCertificate, before serverPort: Int, in folder: URL) throws {
        record = folder.appending(path: "record-\(UUID().uuidString)")
        let output = Pipe()
        process.executableURL = try Self.program()
        process.arguments = [certificate.certificate, certificate.key, "\(serverPort)", record.path]
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        port = try #require(Int(text.trimmingCharacters(in: .whitespacesAndNewlines)))
    }

    /// What clients have sent, deciphered.
    var received: String {
        get throws { String(decoding: try Data(contentsOf: record), as: UTF8.self) }
    }

    func stop() throws {
        try input.fileHandleForWriting.close()
        process.waitUntilExit()
    }

    /// From whichever package of this repository the file is built in.
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
