import ArgumentParser
import Foundation
import LFSServer
import LFSSigningServer
import LFSSyncServer
import Logging
import Synchronization
import Testing

@testable import lfs_server

@Suite("Files that are read again", .timeLimit(.minutes(10)))
struct ReloadTests {
    private let lines = LogLines()
    private var logger: Logger { Logger(label: "test") { [lines] _ in lines } }
    private var messages: [String] { lines.all.withLock { $0.map(\.message) } }

    /// Returns the fingerprint of the certificate that a server on a port presents to a new connection.
    private static func fingerprint(on port: Int) throws -> String {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(filePath: "/bin/sh")
        let client = "openssl s_client -connect 127.0.0.1:\(port) </dev/null 2>/dev/null"
        process.arguments = ["-c", "\(client) | openssl x509 -noout -fingerprint -sha256"]
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.start()
        let data = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return String(decoding: data, as: UTF8.self)
    }

    /// Replaces a file with the content of another one.
    private static func replace(_ path: String, with other: String) throws {
        try Data(contentsOf: URL(filePath: other)).write(to: URL(filePath: path), options: .atomic)
    }

    private func arguments(_ used: TestCertificate, in folder: URL) -> [String] {
        [
            "--database", folder.appending(path: "rows.sqlite").path, "--listen", "127.0.0.1:0", "--url",
            "https://127.0.0.1/lfs", "--certificate", used.certificate, "--key", used.key,
        ]
    }

    /// Starts a client whose live stream stays open.
    private static func openStream(on port: Int, token: String, authority: String) throws -> Process {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [
            "curl", "--silent", "--no-buffer", "--noproxy", "*", "--max-time", "500", "--cacert", authority, "--header",
            "Authorization: Bearer \(token)", "--data", #"{"protocol":1,"types":["FileV1"],"live":true}"#,
            "https://127.0.0.1:\(port)/v1/sync/stream",
        ]
        process.standardOutput = output
        try process.start()
        // The first line arrives when the stream is open.
        #expect(!output.fileHandleForReading.availableData.isEmpty)
        return process
    }

    @Test func `SIGHUP serves a new certificate to new connections and keeps streams open`() async throws {
        try await ForeignTokenTests.withFolder { folder in
            let used = try TestCertificate("used", in: folder)
            let next = try TestCertificate("next", in: folder)
            let database = try SQLiteDatabase(path: folder.appending(path: "rows.sqlite").path)
            let token = try await SyncService(database, schema: .uploader).addSession(account: "ann")
            await database.close()
            try await ServerProcess.run(in: folder, arguments: arguments(used, in: folder)) { server in
                let port = try server.routes.port
                let first = try Self.fingerprint(on: port)
                #expect(!first.isEmpty)
                let stream = try Self.openStream(on: port, token: token, authority: used.certificate)
                try Self.replace(used.certificate, with: next.certificate)
                try Self.replace(used.key, with: next.key)
                kill(server.id, SIGHUP)
                try await eventually { try Self.fingerprint(on: port) != first }
                try await eventually { try server.log().contains("Files were read again.") }
                #expect(stream.isRunning)
                kill(server.id, SIGTERM)
                stream.waitUntilExit()
                #expect(stream.terminationStatus == 0)
            }
        }
    }

    @Test func `A certificate that is replaced on disk is noticed without a signal`() async throws {
        try await ForeignTokenTests.withFolder { folder in
            let used = try TestCertificate("used", in: folder)
            let next = try TestCertificate("next", in: folder)
            try await ServerProcess.run(in: folder, arguments: arguments(used, in: folder)) { server in
                let port = try server.routes.port
                let first = try Self.fingerprint(on: port)
                // The first look at the files takes them as they are.
                try Self.replace(used.certificate, with: next.certificate)
                try Self.replace(used.key, with: next.key)
                try await eventually { try Self.fingerprint(on: port) != first }
            }
        }
    }

    @Test func `A certificate that cannot be used leaves the previous one and is logged once`() async throws {
        try await ForeignTokenTests.withFolder { folder in
            let used = try TestCertificate("used", in: folder)
            let next = try TestCertificate("next", in: folder)
            let command = try ServeCommand.parse(
                ["--database", "x", "--certificate", used.certificate, "--key", used.key])
            let certificate = try #require(try command.loadCertificate())
            let files = command.certificateFiles(certificate, logger: logger)
            files.reload(isAsked: false)
            #expect(messages == [])
            // The key still belongs to the previous certificate.
            try Self.replace(used.certificate, with: next.certificate)
            for _ in 0..<3 { files.reload(isAsked: false) }
            #expect(messages == ["Files cannot be used. The previous ones stay in effect."])
            try FileManager.default.removeItem(atPath: used.key)
            files.reload(isAsked: false)
            #expect(messages.count == 2)
            try Self.replace(used.key, with: next.key)
            files.reload(isAsked: false)
            #expect(messages.last == "Files were read again." && messages.count == 3)
        }
    }

    /// Returns the path of a URL for an upload of three bytes.
    private static func uploadPath(_ key: String, on server: RunningServer, token: String) async throws -> String {
        let sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        let reply = try await server.send(
            "POST", path: "/lfs", headers: ["Authorization": "Bearer \(token)"],
            body: #"{"version":1,"operation":"upload","objects":[{"key":"\#(key)","size":3,"sha256":"\#(sha256)"}]}"#)
        let match = try #require(reply.text.firstMatch(of: /http:\/\/127\.0\.0\.1(\/lfs\/bytes\/[^"]+)"/))
        return String(match.1)
    }

    @Test func `A former signing secret is accepted until a SIGHUP after its removal`() async throws {
        try await ForeignTokenTests.withFolder { folder in
            let (first, second) = (folder.appending(path: "a"), folder.appending(path: "b"))
            for file in [first, second] { _ = try SecretFile.open([file.path]) }
            let former = try Data(contentsOf: first)
            var users = try TokenFile(path: folder.appending(path: "tokens").path, mayBeMissing: true)
            let token = try users.add("ann")
            let arguments = [
                "--storage", "dir:\(folder.path)/objects", "--tokens", "\(folder.path)/tokens", "--secret", first.path,
                "--secret", second.path, "--listen", "127.0.0.1:0", "--url", "http://127.0.0.1/lfs", "--reserve", "0",
            ]
            try await ServerProcess.run(in: folder, arguments: arguments) { process in
                let server = try #require(try process.listeners().first)
                func upload(_ path: String) async throws -> Int {
                    try await server.send("PUT", path: path, body: "abc").status
                }
                func reload(_ files: [(URL, Data)], count: Int) async throws {
                    for (file, data) in files {
                        try data.write(to: file)
                    }
                    kill(process.id, SIGHUP)
                    try await eventually { try process.log().matches(of: /Files (were|cannot)/).count == count }
                }
                let one = try await Self.uploadPath("space/one", on: server, token: token)
                let two = try await Self.uploadPath("space/two", on: server, token: token)
                // The second secret signs now, and the first one is accepted.
                try await reload([(first, try Data(contentsOf: second)), (second, former)], count: 1)
                #expect(try await upload(one) == 200)
                let three = try await Self.uploadPath("space/three", on: server, token: token)
                // A file that cannot be used changes nothing.
                try await reload([(second, Data([1]))], count: 2)
                #expect(try process.log().contains("is not a signing secret of 32 bytes"))
                let four = try await Self.uploadPath("space/four", on: server, token: token)
                try await reload([(second, SigningSecret.random())], count: 3)
                #expect(try await upload(two) == 403)
                #expect(try await upload(three) == 200)
                #expect(try await upload(four) == 200)
            }
        }
    }

    @Test func `A second secret that is missing is an error and is not created`() async throws {
        try await ForeignTokenTests.withFolder { folder in
            let paths = ["a", "b"].map { folder.appending(path: $0).path }
            let error = #expect(throws: SecretFile.Failure.self) { try SecretFile.open(paths) }
            #expect(error?.description.contains(paths[1]) == true)
            #expect(!FileManager.default.fileExists(atPath: paths[1]))
        }
    }
}
