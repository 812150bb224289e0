import Foundation
import Testing

@Suite("Secrets of a journal", .timeLimit(.minutes(10)))
struct SecretsCommandTests {
    private static let secret = "S3CR3T/that+nobody+sees"
    private static let options = ["--database", "journal.sqlite", "--secrets", "state"]

    private func run(_ command: String, in folder: URL, input: String? = nil) async throws -> ChildProcess.Result {
        try await ChildProcess.run("journal", arguments: ["secrets", command] + Self.options, in: folder, input: input)
    }

    @Test("Keys of a bucket are stored encrypted, never shown, and removed on request")
    func kept() async throws {
        try await withDemo { folder in
            #expect(
                try await run("show", in: folder).output
                    == "Credentials of the bucket: none\nClient certificate: none\n")
            let set = try await run("set-storage", in: folder, input: "AKID\n\(Self.secret)\n")
            #expect(set.status == 0 && set.output == "The credentials of the bucket are stored.\n", "\(set)")
            let shown = try await run("show", in: folder)
            #expect(
                shown.output == "Credentials of the bucket: stored\nClient certificate: none\n"
                    && !shown.messages.contains(Self.secret))
            #expect(try files(with: "AKID", in: folder) == [] && files(with: Self.secret, in: folder) == [])
            let mode = try FileManager.default.attributesOfItem(atPath: folder.appending(path: "state").path)
            #expect(mode[.posixPermissions] as? Int == 0o700)
            #expect(try await run("remove-storage", in: folder).status == 0)
            #expect(
                try await run("show", in: folder).output
                    == "Credentials of the bucket: none\nClient certificate: none\n")
        }
    }

    @Test("A client certificate is stored encrypted, and removed on request")
    func certificate() async throws {
        try await withDemo { folder in
            let pem = "-----BEGIN CERTIFICATE-----\n\(Self.secret)\n-----BEGIN PRIVATE KEY-----\n"
            let file = folder.appending(path: "client.pem")
            try Data(pem.utf8).write(to: file)
            let set = try await ChildProcess.run(
                "journal", arguments: ["secrets", "set-certificate", "client.pem"] + Self.options, in: folder,
                input: "zqxjkvwyh\n")
            #expect(set.status == 0 && set.output == "The certificate is stored.\n", "\(set)")
            try FileManager.default.removeItem(at: file)
            #expect(try await run("show", in: folder).output.hasSuffix("Client certificate: stored\n"))
            #expect(try files(with: Self.secret, in: folder) == [])
            #expect(try files(with: "zqxjkvwyh", in: folder) == [])
            #expect(try await run("remove-certificate", in: folder).status == 0)
            #expect(try await run("show", in: folder).output.hasSuffix("Client certificate: none\n"))
        }
    }

    @Test("A file without a private key, and one that is too large, are not stored")
    func invalidCertificates() async throws {
        try await withDemo { folder in
            let large = "-----BEGIN PRIVATE KEY-----\n" + String(repeating: "A", count: 5_000)
            for (text, status) in [("-----BEGIN CERTIFICATE-----\n", Int32(64)), ("", 64), (large, 1)] {
                try Data(text.utf8).write(to: folder.appending(path: "client.pem"))
                let set = try await ChildProcess.run(
                    "journal", arguments: ["secrets", "set-certificate", "client.pem"] + Self.options, in: folder)
                #expect(set.status == status, "\(set)")
            }
            #expect(try await run("show", in: folder).output.hasSuffix("Client certificate: none\n"))
        }
    }

    @Test("Invalid keys of a bucket are refused, not stored", arguments: ["", "AKID\n", "AKID\na b\n", "A KID\nx\n"])
    func wrong(_ input: String) async throws {
        try await withDemo { folder in
            let result = try await run("set-storage", in: folder, input: input)
            #expect(result.status == 64 && result.messages.contains("each on a line of its own"), "\(result)")
            #expect(
                try await run("show", in: folder).output
                    == "Credentials of the bucket: none\nClient certificate: none\n")
        }
    }

    @Test("A secrets folder that others can write to is refused with the fix")
    func unsafe() async throws {
        try await withDemo { folder in
            let state = folder.appending(path: "state")
            try FileManager.default.createDirectory(at: state, withIntermediateDirectories: true)
            try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: state.path)
            let result = try await run("set-storage", in: folder, input: "AKID\n\(Self.secret)\n")
            #expect(result.status == 1 && result.messages.contains("chmod"), "\(result)")
            #expect(try files(with: Self.secret, in: folder) == [])
        }
    }

    @Test("Lost secrets are an error with advice, and are not replaced")
    func gone() async throws {
        try await withDemo { folder in
            #expect(try await run("set-storage", in: folder, input: "AKID\n\(Self.secret)\n").status == 0)
            try FileManager.default.removeItem(at: folder.appending(path: "state"))
            // Without the certificate option, the command would stop after it has read the secrets, for another reason.
            let tls = ["--tls-certificate", "none.pem", "--tls-key", "none.pem"]
            let result = try await ChildProcess.run(
                "journal", arguments: ["serve", "--storage", "dir:a", "--listen", "127.0.0.1:0"] + tls + Self.options,
                in: folder)
            #expect(result.status == 1 && result.messages.contains("journal secrets adopt"), "\(result)")
            #expect(try await run("adopt", in: folder).status == 0)
            #expect(
                try await run("show", in: folder).output
                    == "Credentials of the bucket: none\nClient certificate: none\n")
        }
    }
}
