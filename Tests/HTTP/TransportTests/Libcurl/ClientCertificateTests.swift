import Foundation
import LFSCurl
import LFSHTTP
import TestSupport
import Testing

@Suite(
    "Client certificates", .enabled(if: Machine.has("openssl"), "needs openssl"), .timeLimit(.minutes(10)))
struct ClientCertificateTests {
    enum Version: String, CaseIterable { case tls1_2, tls1_3 }

    /// Returns the error of a request to a server that requires a certificate of its authority, or nil.
    private func error(
        _ version: Version, _ client: (TestAuthority, _ folder: URL) throws -> HTTPOptions.ClientCertificate?
    ) async throws -> HTTPError? {
        try await withTemporaryFolder { folder in
            let authority = try TestAuthority(in: folder)
            let server = try TLSServer(
                try authority.identity("server"), requiring: authority, arguments: ["-\(version.rawValue)"])
            defer { server.end() }
            var options = HTTPOptions.patient
            options.certificateAuthorities = authority.certificate.path
            options.clientCertificate = try client(authority, folder)
            let engine = CurlTransport(options)
            let origin = HTTPOrigin(isSecure: true, host: "127.0.0.1", port: server.port)
            do {
                let response = try await engine.send(HTTPRequest(.get, origin: origin, target: "/"))
                await engine.shutdown()
                #expect(response.status == 200)
                return nil
            } catch let error as HTTPError {
                await engine.shutdown()
                return error
            }
        }
    }

    @Test("A server accepts a PEM file with certificate and key", arguments: Version.allCases)
    func pem(_ version: Version) async throws {
        let error = try await error(version) { authority, _ in
            .init(Array(try authority.identity("client").pem), password: nil)
        }
        #expect(error == nil)
    }

    @Test("A server accepts a PEM file with an encrypted key", arguments: Version.allCases)
    func encrypted(_ version: Version) async throws {
        let error = try await error(version) { authority, _ in
            let pem = try TestAuthority.encrypted(try authority.identity("client"), password: "a secret")
            return .init(Array(pem), password: "a secret")
        }
        #expect(error == nil)
    }

    @Test("A server accepts a PKCS#12 file", arguments: Version.allCases)
    func bundle(_ version: Version) async throws {
        let error = try await error(version) { authority, _ in
            let bundle = try TestAuthority.bundle(try authority.identity("client"), password: "a secret")
            return .init(Array(bundle), password: "a secret")
        }
        #expect(error == nil)
    }

    @Test("A wrong or missing password is an error before any request", arguments: ["wrong", nil], [true, false])
    func wrongPassword(_ password: String?, isBundle: Bool) async throws {
        let error = try await error(.tls1_3) { authority, _ in
            let identity = try authority.identity("client")
            let bytes =
                isBundle
                ? try TestAuthority.bundle(identity, password: "a secret")
                : try TestAuthority.encrypted(identity, password: "a secret")
            return .init(Array(bytes), password: password)
        }
        #expect(error?.code == .untrusted)
        #expect(error?.message.contains("Check its password") == true, "\(error as Any)")
    }

    @Test("Bytes that are not a certificate are an error", arguments: ["", "0", "0\u{82}", "-----BEGIN NOTHING-----"])
    func noCertificate(_ text: String) async throws {
        let error = try await error(.tls1_3) { _, _ in .init(Array(text.utf8), password: nil) }
        #expect(error?.code == .untrusted, "\(error as Any)")
    }

    @Test("A request without the required certificate names it", arguments: Version.allCases)
    func missing(_ version: Version) async throws {
        let error = try await error(version) { _, _ in nil }
        #expect(error?.code == .untrusted)
        #expect(error?.message.contains("requires a client certificate") == true, "\(error as Any)")
    }

    @Test("A server's refusal of an expired certificate is reported", arguments: Version.allCases)
    func expired(_ version: Version) async throws {
        let error = try await error(version) { authority, _ in
            .init(Array(try authority.identity("client", days: -1).pem), password: nil)
        }
        #expect(error?.code == .untrusted)
        #expect(error?.message.contains("does not accept the one that is set") == true, "\(error as Any)")
    }

    @Test("A server's refusal of another authority is reported", arguments: Version.allCases)
    func stranger(_ version: Version) async throws {
        let error = try await error(version) { _, folder in
            let stranger = try TestAuthority("stranger", in: folder)
            return .init(Array(try stranger.identity("client").pem), password: nil)
        }
        #expect(error?.code == .untrusted)
        #expect(error?.message.contains("does not accept the one that is set") == true, "\(error as Any)")
    }
}
