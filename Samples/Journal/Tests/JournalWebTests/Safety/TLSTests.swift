import Foundation
import JournalWeb
import Testing

@Suite("TLS", .timeLimit(.minutes(10)))
struct TLSTests {
    @Test("A journal with TLS refuses untrusted clients, plain HTTP and old TLS")
    func served() async throws {
        try await withCertificate { files in
            try await withWeb { options in
                options.tls = files
                options.password = "correct horse battery"
            } _: { subject in
                let port = subject.address.port
                let trusting = ["--cacert", files.certificate]
                let health = try await curl(trusting + ["https://127.0.0.1:\(port)/health"])
                #expect(health.status == 0 && health.output.contains(#""status":"ok""#), "\(health)")
                let page = try await curl(trusting + ["-D", "-", "https://127.0.0.1:\(port)/login"]).output
                #expect(page.contains("Secure") && page.contains("HttpOnly"), "\(page)")
                // A client must not trust an unsigned certificate. Plain HTTP and old TLS versions are refused.
                #expect(try await curl(["https://127.0.0.1:\(port)/health"]).status == 60)
                #expect(try await curl(["http://127.0.0.1:\(port)/health"]).status != 0)
                #expect(
                    try await curl(trusting + ["--tls-max", "1.1", "https://127.0.0.1:\(port)/health"]).status == 35)
                // Forms are checked against the origin that browsers see.
                let forged = ["-H", "Origin: http://127.0.0.1:\(port)", "-d", "password=x"]
                let reply = try await curl(
                    trusting + forged + ["-w", "%{http_code}", "https://127.0.0.1:\(port)/login"])
                #expect(reply.output.hasSuffix("403"), "\(reply)")
            }
        }
    }

    @Test("Missing, swapped or mismatched certificate files prevent the start")
    func wrongFiles() async throws {
        try await withCertificate { first in
            try await withCertificate { second in
                for (certificate, key) in [
                    ("/nowhere", first.key), (first.certificate, "/nowhere"), (first.key, first.certificate),
                    (first.certificate, second.key),
                ] {
                    let error = await #expect(throws: WebError.self) {
                        try await withWeb { options in
                            options.tls = .init(certificate: certificate, key: key)
                        } _: { _ in
                        }
                    }
                    #expect(error?.code == .unusableFile, "\(String(describing: error))")
                    #expect(error?.message.contains("PEM") == true)
                }
            }
        }
    }

    private func withCertificate(_ body: (WebOptions.TLSFiles) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "certificate-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: folder) } }
        let (certificate, key) = (folder.appending(path: "cert.pem").path, folder.appending(path: "key.pem").path)
        let made = try await run(
            "openssl",
            arguments: [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate,
            ])
        #expect(made.status == 0, "\(made)")
        try await body(.init(certificate: certificate, key: key))
    }

    private func curl(_ arguments: [String]) async throws -> (status: Int32, output: String) {
        try await run("curl", arguments: ["--silent", "--noproxy", "*", "--max-time", "300"] + arguments)
    }

    private func run(_ tool: String, arguments: [String]) async throws -> (status: Int32, output: String) {
        let (process, output) = (Process(), Pipe())
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [tool] + arguments
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        let (ends, ended) = AsyncStream.makeStream(of: Void.self)
        process.terminationHandler = { _ in ended.finish() }
        try process.start()
        for await _ in ends {}
        // The output fits into the pipe's buffer.
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        return (process.terminationStatus, text)
    }
}
