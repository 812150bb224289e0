import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdCore
import HummingbirdTLS
import LFSS3
import LFSStorage
import NIOSSL
import Synchronization
import Testing

@Suite("Client certificates for a Swift server", .timeLimit(.minutes(10)))
struct ClientCertificateTests {
    typealias Form = TestAuthority.Form

    static let versions = [TLSVersion.tlsv12, .tlsv13]

    private static let password = "a secret"

    /// Accepts each deletion and counts them. The mutex owns the count.
    private final class Deletions: Sendable {
        private let number = Mutex(0)

        var count: Int { number.withLock { $0 } }

        func add(to router: Router<BasicRequestContext>) {
            router.delete("**") { [self] _, _ in
                number.withLock { $0 += 1 }
                // Without a field of S3, the storage would make a second request.
                let name = try #require(HTTPField.Name("x-amz-request-id"))
                return Response(status: .noContent, headers: [name: "1"])
            }
        }
    }

    /// The deletion of an object on a server that requires a certificate of its authority.
    private struct Outcome {
        let error: StorageError?
        /// The deletions that the server has received.
        let received: Int
    }

    /// Deletes an object with the certificate that the closure makes.
    private func delete(
        _ version: TLSVersion = .tlsv13, _ client: (TestAuthority, _ folder: URL) throws -> ClientCertificate?
    ) async throws -> Outcome {
        let folder = FileManager.default.temporaryDirectory.appending(path: "clients-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: folder) } }
        let authority = try TestAuthority(in: folder)
        let identity = try authority.identity("server")
        var tls = TLSConfiguration.makeServerConfiguration(
            certificateChain: try NIOSSLCertificate.fromPEMFile(identity.certificate.path).map { .certificate($0) },
            privateKey: .privateKey(try NIOSSLPrivateKey(file: identity.key.path, format: .pem)))
        tls.trustRoots = .file(authority.certificate.path)
        tls.certificateVerification = .noHostnameVerification
        tls.maximumTLSVersion = version

        var options = S3Options()
        options.certificateAuthorities = authority.certificate.path
        options.clientCertificate = try client(authority, folder)
        let deletions = Deletions()
        let router = Router()
        deletions.add(to: router)
        let failure = Mutex<StorageError?>(nil)
        try await serving(router, server: try .tls(.http1(), tlsConfiguration: tls)) { [options] server in
            let storage = try S3Storage(
                bucket: "bucket", region: "us-east-1", endpoint: URL(string: "https://127.0.0.1:\(server.port)"),
                addressing: .path, credentials: .static(S3Credentials(accessKeyID: "id", secretAccessKey: "secret")),
                options: options)
            do {
                try await storage.delete(try ObjectKey("0f3a/0199-7e"), abandoning: nil)
            } catch let error as StorageError {
                failure.withLock { $0 = error }
            }
            await storage.shutdown()
        }
        return Outcome(error: failure.withLock { $0 }, received: deletions.count)
    }

    private func certificate(_ identity: TestAuthority.Identity, form: Form) throws -> ClientCertificate {
        let file = try TestAuthority.file(of: identity, form: form, password: Self.password)
        return ClientCertificate(file.bytes, password: file.password)
    }

    @Test("A Swift server accepts a certificate of its authority", arguments: Form.allCases, Self.versions)
    func accepted(_ form: Form, version: TLSVersion) async throws {
        let outcome = try await delete(version) { authority, _ in
            try certificate(try authority.identity("client"), form: form)
        }
        #expect(outcome.error == nil)
        #expect(outcome.received == 1)
    }

    @Test("A Swift server refuses a client without a certificate", arguments: Self.versions)
    func missing(_ version: TLSVersion) async throws {
        let outcome = try await delete(version) { _, _ in nil }
        #expect(outcome.error?.code == .misconfigured)
        #expect(outcome.error?.message.contains("requires a client certificate") == true, "\(outcome)")
        #expect(outcome.received == 0)
    }

    @Test("A Swift server refuses an expired certificate", arguments: Self.versions)
    func expired(_ version: TLSVersion) async throws {
        let outcome = try await delete(version) { authority, _ in
            ClientCertificate(try authority.identity("client", days: -1).pem)
        }
        #expect(outcome.error?.code == .misconfigured)
        #expect(outcome.error?.message.contains("does not accept the one that is set") == true, "\(outcome)")
        #expect(outcome.received == 0)
    }

    @Test("A Swift server refuses a certificate of another authority", arguments: Self.versions)
    func stranger(_ version: TLSVersion) async throws {
        let outcome = try await delete(version) { _, folder in
            ClientCertificate(try TestAuthority("stranger", in: folder).identity("client").pem)
        }
        #expect(outcome.error?.code == .misconfigured)
        #expect(outcome.error?.message.contains("does not accept the one that is set") == true, "\(outcome)")
        #expect(outcome.received == 0)
    }

    @Test("A wrong password fails before the Swift server sees a request", arguments: [Form.encrypted, .bundle])
    func wrongPassword(_ form: Form) async throws {
        let outcome = try await delete { authority, _ in
            var client = try certificate(try authority.identity("client"), form: form)
            client.password = "another"
            return client
        }
        #expect(outcome.error?.code == .misconfigured)
        #expect(outcome.error?.message.contains("Check its password") == true, "\(outcome)")
        #expect(outcome.received == 0)
    }
}
