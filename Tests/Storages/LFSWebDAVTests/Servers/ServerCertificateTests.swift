import Foundation
import LFSStorage
import LFSTesting
import TestSupport
import Testing

@testable import LFSWebDAV

@Suite(
    "Client certificates for nginx",
    .enabled(
        if: DAVServer.isAvailable && CertificateServer.isAvailable, "needs the part webdav, nginx and openssl"),
    .timeLimit(.minutes(10)))
struct ServerCertificateTests {
    typealias Form = TestAuthority.Form

    private static let password = "a secret"

    /// Runs a body with a storage behind a server that requires a certificate.
    ///
    /// - Returns: the statuses of the server's replies.
    private func run(
        _ client: (TestAuthority, _ folder: URL) throws -> ClientCertificate?,
        _ body: (WebDAVStorage) async throws -> Void
    ) async throws -> [String] {
        try await withTemporaryFolder { folder in
            let authority = try TestAuthority(in: folder)
            let server = try await CertificateServer(
                try authority.identity("server"), requiring: authority, in: folder)
            var options = WebDAVOptions()
            options.certificateAuthorities = authority.certificate.path
            options.clientCertificate = try client(authority, folder)
            let storage = try WebDAVStorage(url: server.url, credentials: .none, options: options)
            let result: Result<Void, any Error>
            do { result = .success(try await body(storage)) } catch { result = .failure(error) }
            await storage.shutdown()
            let statuses = try await server.stop()
            try result.get()
            return statuses
        }
    }

    /// Returns the error of one request, and the statuses of the server's replies.
    private func refusal(
        _ client: (TestAuthority, _ folder: URL) throws -> ClientCertificate?
    ) async throws -> (error: StorageError?, statuses: [String]) {
        let key = try ObjectKey("0f3a/0199-7e")
        var error: StorageError?
        let statuses = try await run(client) { storage in
            error = try await storageError { try await storage.head(key) }
        }
        return (error, statuses)
    }

    private func certificate(_ identity: TestAuthority.Identity, form: Form) throws -> ClientCertificate {
        let file = try TestAuthority.file(of: identity, form: form, password: Self.password)
        return ClientCertificate(file.bytes, password: file.password)
    }

    @Test("An object is uploaded to and downloaded from nginx with a certificate", arguments: Form.allCases)
    func accepted(_ form: Form) async throws {
        let key = try ObjectKey("0f3a/0199-7e")
        let statuses = try await run { authority, _ in
            try certificate(try authority.identity("client"), form: form)
        } _: { storage in
            _ = try await storage.upload(.temporary([1, 2, 3]), to: key, session: UploadSession())
            #expect(try await storage.contents(key) == [1, 2, 3])
        }
        #expect(statuses.contains("201") && !statuses.contains("400"), "\(statuses)")
    }

    @Test("An upload without the certificate that nginx requires fails after one request")
    func missing() async throws {
        let (error, statuses) = try await refusal { _, _ in nil }
        #expect(error?.code == .misconfigured)
        #expect(error?.message.contains("requires a client certificate") == true, "\(error as Any)")
        #expect(statuses == ["400"])
    }

    @Test("An upload with an expired certificate to nginx fails after one request")
    func expired() async throws {
        let (error, statuses) = try await refusal { authority, _ in
            ClientCertificate(try authority.identity("client", days: -1).pem)
        }
        #expect(error?.code == .misconfigured)
        #expect(error?.message.contains("does not accept the one that is set") == true, "\(error as Any)")
        #expect(statuses == ["400"])
    }

    @Test("An upload with a certificate of another authority fails after one request")
    func stranger() async throws {
        let (error, statuses) = try await refusal { _, folder in
            ClientCertificate(try TestAuthority("stranger", in: folder).identity("client").pem)
        }
        #expect(error?.code == .misconfigured)
        #expect(error?.message.contains("does not accept the one that is set") == true, "\(error as Any)")
        #expect(statuses == ["400"])
    }

    @Test("A wrong password is a misconfiguration before any request", arguments: [Form.encrypted, .bundle])
    func wrongPassword(_ form: Form) async throws {
        let (error, statuses) = try await refusal { authority, _ in
            var client = try certificate(try authority.identity("client"), form: form)
            client.password = "another"
            return client
        }
        #expect(error?.code == .misconfigured)
        #expect(error?.message.contains("Check its password") == true, "\(error as Any)")
        #expect(!String(reflecting: error as Any).contains("another"))
        #expect(statuses == [])
    }
}
