import ArgumentParser
import Crypto
import Foundation
import Hummingbird
import LFSServer
import LFSSyncServer
import Logging
import Synchronization
import Testing

@testable import LFSServerJWT
@testable import lfs_server

/// An identity provider: a key, its file, and tokens signed by hand.
private struct Provider {
    let key = P256.Signing.PrivateKey()
    let kid: String

    static let now = Date(timeIntervalSince1970: 1_800_000_000)

    static func base64(_ data: some Sequence<UInt8>) -> String {
        Data(data).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    func publicKey(_ more: [String: String] = [:]) -> [String: String] {
        let point = key.publicKey.x963Representation
        return [
            "kty": "EC", "crv": "P-256", "kid": kid, "x": Self.base64(point[1..<33]), "y": Self.base64(point[33...]),
        ].merging(more) { $1 }
    }

    static func write(_ keys: [[String: String]], to file: URL) throws {
        try JSONSerialization.data(withJSONObject: ["keys": keys]).write(to: file)
    }

    /// Names and values as JSON has them.
    static let good = [
        "iss": #""https://id.example""#, "aud": #""lfs""#, "sub": #""ann""#, "exp": "1800000300", "nbf": "1799999900",
    ]

    /// - Parameters:
    ///   - changes: of the claims, as JSON; empty for one that is left out.
    ///   - header: of its fields, which are texts.
    func token(
        _ changes: [String: String] = [:], header: [String: String] = [:], sign: ((Data) throws -> Data)? = nil
    ) throws -> String {
        let fields = ["alg": "ES256", "typ": "JWT", "kid": kid].merging(header) { $1 }
            .mapValues { $0.isEmpty ? "" : "\"\($0)\"" }
        let text = [fields, Self.good.merging(changes) { $1 }]
            .map { object in
                let members = object.filter { !$0.value.isEmpty }.map { "\"\($0.key)\":\($0.value)" }
                return Self.base64("{\(members.joined(separator: ","))}".utf8)
            }.joined(separator: ".")
        let signature = try sign?(Data(text.utf8)) ?? key.signature(for: Data(text.utf8)).rawRepresentation
        return text + "." + Self.base64(signature)
    }
}

@Suite("M 3: a token of the app's identity provider", .timeLimit(.minutes(10)))
struct JWTAuthenticationTests {
    private func run(
        interval: Duration = .seconds(10), _ body: (JWTAuthentication, Provider, URL) async throws -> Void
    ) async throws {
        try await ForeignTokenTests.withFolder { folder in
            let (provider, file) = (Provider(kid: "one"), folder.appending(path: "keys.json"))
            try Provider.write([provider.publicKey()], to: file)
            var options = JWTAuthenticationOptions(keys: file.path, issuer: "https://id.example", audience: "lfs")
            options.now = { Provider.now }
            let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            try await body(try JWTAuthentication(options, logger: logger, interval: interval), provider, file)
        }
    }

    @Test("names the account; the audience may be one of several, and clocks may differ a little")
    func good() async throws {
        try await run { (authentication, provider, _) async throws in
            for changes in [
                [:], ["aud": #"["other","lfs"]"#], ["nbf": ""], ["exp": "1799999941"], ["nbf": "1800000059"],
            ] {
                #expect(try await authentication.name(ofToken: provider.token(changes)) == "ann", "\(changes)")
            }
        }
    }

    @Test("is refused: another issuer or audience, expired, not yet valid, without an end or a name")
    func claims() async throws {
        try await run { (authentication, provider, _) async throws in
            for changes in [
                ["iss": #""https://id.example/""#], ["iss": ""], ["aud": #""lfs2""#], ["aud": #"["a","b"]"#],
                ["aud": ""], ["exp": "1799999940"], ["exp": ""], ["exp": #""1900000000""#], ["nbf": "1800000061"],
                ["sub": ""], ["sub": #""""#], ["sub": #""a b""#], ["sub": "7"],
                ["sub": "\"\(String(repeating: "a", count: 129))\""],
            ] {
                #expect(try await authentication.name(ofToken: provider.token(changes)) == nil, "\(changes)")
            }
        }
    }

    @Test("is refused: another key, one that it does not name, 'none', a public key as a secret, and what was changed")
    func signatures() async throws {
        try await run { (authentication, provider, _) async throws in
            let other = Provider(kid: "one")
            let point = provider.key.publicKey.x963Representation
            func secret(_ data: Data) -> Data {
                Data(HMAC<SHA256>.authenticationCode(for: data, using: SymmetricKey(data: point)))
            }
            let good = try provider.token()
            let parts = good.split(separator: ".")
            let claims = try Provider.base64(JSONSerialization.data(withJSONObject: ["sub": "eve"]))
            for token in [
                try other.token(), try provider.token(header: ["kid": "two"]), try provider.token(header: ["kid": ""]),
                try provider.token(header: ["alg": "none"]) { _ in Data() },
                try provider.token(header: ["alg": "HS256"], sign: secret), "\(parts[0]).\(claims).\(parts[2])",
                "\(parts[0]).\(parts[1]).", "\(parts[0]).\(parts[1])", String(good.dropLast(4)), "", "lfss_abc",
                "a.b.c",
            ] {
                #expect(try await authentication.name(ofToken: token) == nil, "\(token)")
            }
            #expect(try await authentication.name(ofToken: good) == "ann")
        }
    }

    @Test("keys that change are read again, and those of before count while the file cannot be read")
    func rotation() async throws {
        try await run(interval: .zero) { authentication, provider, file in
            let next = Provider(kid: "two")
            #expect(try await authentication.name(ofToken: next.token()) == nil)
            try Provider.write([next.publicKey(["alg": "ES256", "use": "sig"])], to: file)
            #expect(try await authentication.name(ofToken: next.token()) == "ann")
            #expect(try await authentication.name(ofToken: provider.token()) == nil)
            try Data("{".utf8).write(to: file)
            #expect(try await authentication.name(ofToken: next.token()) == "ann")
            // Of keys that are none the others count: one of a curve that nobody knows, and a point that is on none.
            let odd = ["kty": "EC", "crv": "secp256k1", "kid": "odd", "x": "AA", "y": "AA"]
            let broken = next.publicKey(["kid": "broken", "y": Provider.base64([UInt8](repeating: 7, count: 32))])
            try Provider.write([odd, broken, provider.publicKey()], to: file)
            #expect(try await authentication.name(ofToken: provider.token()) == "ann")
            #expect(try await authentication.name(ofToken: next.token()) == nil)
            try Provider.write([broken], to: file)
            #expect(try await authentication.name(ofToken: provider.token()) == "ann")
        }
    }

    @Test("a file of keys that are secret, of none, or that cannot be used does not start")
    func files() async throws {
        try await run { _, provider, file in
            let nameless = provider.publicKey().filter { $0.key != "kid" }
            for keys in [
                [], [provider.publicKey(["d": "AAAA"])], [["kty": "oct", "k": "AAAA", "kid": "s", "alg": "HS256"]],
                [nameless], [provider.publicKey(["use": "enc"])],
                [["kty": "EC", "crv": "P-256", "kid": "x", "x": "AA"]],
            ] {
                try Provider.write(keys, to: file)
                #expect(throws: KeyFile.Failure.self, "\(keys)") { try KeyFile(path: file.path) }
            }
        }
    }

    @Test("opens a session, which opens sync, and is none itself; a session ends by its own token")
    func sessions() async throws {
        try await run { authentication, provider, file in
            let database = try SQLiteDatabase(path: file.deletingLastPathComponent().appending(path: "s.sqlite").path)
            var options = SyncServiceOptions()
            options.sessionLimit = 2
            let service = try await SyncService(database, schema: SyncSchema(), options: options)
            let router = Router()
            router.addMiddleware { ReplyMiddleware() }
            SessionRoutes(service, authenticator: authentication).add(to: router.group("v1/sessions"))
            SyncRoutes(service).add(to: router.group("v1/sync"))
            let jwt = try provider.token()
            try await serving(router) { server in
                func send(_ method: String, _ path: String, _ token: String, _ body: String = "") async throws
                    -> RunningServer.Reply
                { try await server.send(method, path, ["Authorization": "Bearer \(token)"], body: body) }
                let opened = try await send("POST", "/v1/sessions", jwt, #"{"device":"Ann's phone"}"#)
                #expect(opened.status == 201)
                let fields = try JSONSerialization.jsonObject(with: opened.body) as? [String: String]
                let token = try #require(fields?["token"])
                #expect(try await send("GET", "/v1/sync/schema", token).status == 200)
                #expect(try await send("GET", "/v1/sync/schema", jwt).status == 401)
                #expect(try await service.sessions(account: "ann").map(\.device) == ["Ann's phone"])
                // A session makes no other one.
                #expect(try await send("POST", "/v1/sessions", token).status == 401)
                #expect(try await send("POST", "/v1/sessions", "x").status == 401)
                #expect(try await send("POST", "/v1/sessions", jwt, "{").status == 400)
                #expect(try await send("POST", "/v1/sessions", jwt, #"{"device":"a\u001b[2J"}"#).status == 400)
                #expect(try await send("POST", "/v1/sessions", jwt).status == 201)
                let third = try await send("POST", "/v1/sessions", jwt)
                #expect(third.status == 403 && third.text.contains("too_many"))
                #expect(try await send("DELETE", "/v1/sessions", jwt).status == 401)
                #expect(try await send("DELETE", "/v1/sessions", token).status == 204)
                #expect(try await send("DELETE", "/v1/sessions", token).status == 401)
                #expect(try await send("GET", "/v1/sync/schema", token).status == 401)
            }
            await database.close()
        }
    }

    @Test("the options belong together, and to --database")
    func options() throws {
        let all = ["--jwt-keys", "k", "--jwt-issuer", "i", "--jwt-audience", "a"]
        let database = ["--database", "s.sqlite"]
        let options = try ServeCommand.parse(database + all + ["--jwt-claim", "email"]).provider.options()
        #expect(options?.keys == "k" && options?.issuer == "i" && options?.audience == "a")
        #expect(options?.accountClaim == "email")
        #expect(try ServeCommand.parse(database).provider.options() == nil)
        for wrong in [Array(all.prefix(4)), Array(all.suffix(4)), ["--jwt-claim", "email"], ["--session-days", "3"]] {
            #expect(throws: (any Error).self, "\(wrong)") { try ServeCommand.parse(database + wrong) }
        }
        #expect(throws: (any Error).self) { try ServeCommand.parse(["--storage", "dir:d", "--tokens", "t"] + all) }
    }
}
