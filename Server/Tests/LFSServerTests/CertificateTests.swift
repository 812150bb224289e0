import ArgumentParser
import Foundation
import LFSServer
import Testing

@testable import lfs_server

@Suite("Server certificates")
struct CertificateTests {
    /// Creates a certificate and its key.
    private func makePair(_ name: String, in folder: URL) throws -> (certificate: String, key: String) {
        let certificate = folder.appending(path: "\(name).pem").path
        let key = folder.appending(path: "\(name).key").path
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
            "-subj", "/CN=localhost", "-keyout", key, "-out", certificate,
        ]
        process.standardError = FileHandle.nullDevice
        try process.start()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0)
        return (certificate, key)
    }

    @Test func `A server with missing, swapped or mismatched files does not start`() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "certificates-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: folder) } }
        let (first, second) = (try makePair("first", in: folder), try makePair("second", in: folder))
        func command(_ certificate: String, key: String) throws -> ServeCommand {
            try ServeCommand.parse(
                ["--storage", "dir:data", "--tokens", "tokens", "--certificate", certificate, "--key", key])
        }
        _ = try command(first.certificate, key: first.key).loadCertificate()
        for (certificate, key) in [
            ("/nowhere", first.key), (first.certificate, "/nowhere"), (first.key, first.certificate),
            (first.certificate, second.key),
        ] {
            let error = #expect(throws: ValidationError.self) {
                try command(certificate, key: key).loadCertificate()
            }
            #expect(error?.message.contains("PEM") == true, "\(certificate) \(key)")
        }
    }
}
