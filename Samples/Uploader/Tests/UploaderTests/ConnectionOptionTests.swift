import Foundation
import Synchronization
import Testing

@Suite("Options of the connection", .timeLimit(.minutes(10)))
struct ConnectionOptionTests {
    private static func run(
        _ server: AnsweringServer, at url: String, options: [String], in folder: URL,
        environment: [String: String] = [:]
    ) throws -> UploaderProcess.Result {
        try UploaderProcess(
            [
                "push", "--database", "a.sqlite", "--give-up-after", "20s", "--to",
                "s3://photos?endpoint=\(url)&addressing=path&region=x",
            ] + options + ["files"], in: folder, environment: server.environment.merging(environment) { $1 }
        ).wait()
    }

    /// Pushes a file to a server behind a proxy that requires a certificate.
    private func push(
        _ options: (TestAuthority, URL) throws -> [String]
    ) throws -> UploaderProcess.Result {
        var result: UploaderProcess.Result?
        try withFolder(files: 1) { folder in
            let server = try AnsweringServer { request, _ in .uploaded(request) }
            defer { server.close() }
            let authority = try TestAuthority(in: folder)
            let certificate = try TestCertificate("proxy", in: folder)
            let port = try #require(server.url.port)
            let proxy = try TLSProxy(certificate, before: port, in: folder, requiring: authority.certificate)
            result = try Self.run(
                server, at: "https://127.0.0.1:\(proxy.port)", options: try options(authority, folder), in: folder,
                environment: ["AWS_CA_BUNDLE": certificate.certificate])
            try proxy.stop()
        }
        return try #require(result)
    }

    @Test("A push with a client certificate reaches a server that requires one")
    func certificate() throws {
        let result = try push { authority, folder in
            let bundle = try TestAuthority.bundle(try authority.identity("client"), password: "a secret")
            try bundle.write(to: folder.appendingPathComponent("client.p12"))
            try Data("a secret\n".utf8).write(to: folder.appendingPathComponent("password"))
            return ["--client-certificate", "client.p12", "--client-certificate-password-file", "password"]
        }
        #expect(result.status == 0, "\(result)")
    }

    @Test("A push with a certificate's password from a command reaches the server")
    func passwordCommand() throws {
        let result = try push { authority, folder in
            let bundle = try TestAuthority.bundle(try authority.identity("client"), password: "a secret")
            try bundle.write(to: folder.appendingPathComponent("client.p12"))
            return [
                "--client-certificate", "client.p12", "--client-certificate-password-command",
                "printf 'a secret\\nanother line\\n'",
            ]
        }
        #expect(result.status == 0, "\(result)")
    }

    @Test("A failing command for the password is an error without its output")
    func failingCommand() throws {
        let result = try push { authority, folder in
            try authority.identity("client").pem.write(to: folder.appendingPathComponent("client.pem"))
            return [
                "--client-certificate", "client.pem", "--client-certificate-password-command", "echo canary; exit 7",
            ]
        }
        #expect(result.status == 1 && result.messages.contains("failed with status 7"), "\(result)")
        #expect(!result.messages.contains("canary") && !result.output.contains("canary"))
    }

    @Test(
        "A password without a certificate, or two passwords, are wrong",
        arguments: [
            ["--client-certificate-password-command", "true"],
            [
                "--client-certificate", "a", "--client-certificate-password-command", "true",
                "--client-certificate-password-file", "b",
            ],
        ])
    func wrongPasswordOptions(_ options: [String]) throws {
        try withFolder(files: 1) { folder in
            let push = ["push", "--database", "a.sqlite", "--to", "dir:remote"] + options + ["files"]
            let result = try UploaderProcess(push, in: folder).wait()
            #expect(result.status == 64, "\(result)")
        }
    }

    @Test("A push without the required client certificate ends with a message")
    func noCertificate() throws {
        let result = try push { _, _ in [] }
        #expect(result.status == 3, "\(result)")
        #expect(result.messages.contains("requires a client certificate"), "\(result)")
    }

    @Test("A push with a wrong password for its client certificate ends with a message")
    func wrongPassword() throws {
        let result = try push { authority, folder in
            let bundle = try TestAuthority.bundle(try authority.identity("client"), password: "a secret")
            try bundle.write(to: folder.appendingPathComponent("client.p12"))
            return ["--client-certificate", "client.p12"]
        }
        #expect(result.status == 3, "\(result)")
        #expect(result.messages.contains("Check its password"), "\(result)")
    }

    @Test("A missing bucket is created only with the option", arguments: [true, false])
    func creation(_ isWanted: Bool) throws {
        try withFolder(files: 1) { folder in
            let creations = AnsweringServer.Counter()
            let server = try AnsweringServer.withoutBucket(creations)
            defer { server.close() }
            let result = try Self.run(
                server, at: server.url.absoluteString, options: isWanted ? ["--create-storage"] : [], in: folder)
            #expect(creations.value == (isWanted ? 1 : 0))
            #expect((result.status == 0) == isWanted, "\(result)")
        }
    }

    @Test("Each request has the header fields of the file")
    func headers() throws {
        try withFolder(files: 1) { folder in
            let doors = Mutex<Set<String?>>([])
            let server = try AnsweringServer { request, _ in
                doors.withLock { _ = $0.insert(request.headers["x-door"]) }
                return .uploaded(request)
            }
            defer { server.close() }
            try Data("# The proxy\nX-Door: canary\n\n".utf8).write(to: folder.appendingPathComponent("headers"))
            let result = try Self.run(
                server, at: server.url.absoluteString, options: ["--headers-file", "headers", "--verbose"], in: folder)
            #expect(result.status == 0, "\(result)")
            #expect(doors.withLock { $0 } == ["canary"])
            #expect(!result.messages.contains("canary") && !result.output.contains("canary"))
        }
    }

    @Test("An invalid header file is an error without its content", arguments: ["canary", "Authorization: canary"])
    func invalidHeaders(_ text: String) throws {
        try withFolder(files: 1) { folder in
            let server = try AnsweringServer { request, _ in .uploaded(request) }
            defer { server.close() }
            try Data(text.utf8).write(to: folder.appendingPathComponent("headers"))
            let result = try Self.run(
                server, at: server.url.absoluteString, options: ["--headers-file", "headers"], in: folder)
            #expect(result.status != 0, "\(result)")
            #expect(server.count == 0 && !result.messages.contains("canary"), "\(result)")
        }
    }
}
