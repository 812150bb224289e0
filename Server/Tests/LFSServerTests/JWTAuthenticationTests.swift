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

/// An identity provider with a key, a key file and manually signed tokens.
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

    /// The claims of a valid token, as JSON values.
    static let good = [
        "iss": #""https://id.example""#, "aud": #""lfs""#, "sub": #""ann""#, "exp": "1800000300", "nbf": "1799999900",
    ]

    /// - Parameters:
    ///   - changes: the changed claims as JSON. An empty value removes a claim.
    ///   - header: the changed header fields, which are strings.
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

@Suite("Tokens of an identity provider", .timeLimit(.minutes(10)))
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

    @Test("A valid token names the account, with several audiences and some clock skew")
    func good() async throws {
        try await run { (authentication, provider, _) async throws in
            for changes in [
                [:], ["aud": #"["other","lfs"]"#], ["nbf": ""], ["exp": "1799999941"], ["nbf": "1800000059"],
            ] {
                #expect(try await authentication.name(ofToken: provider.token(changes)) == "ann", "\(changes)")
            }
        }
    }

    @Test("A token with wrong, missing or expired claims is refused")
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

    @Test("A token with a wrong, missing or forged signature is refused")
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

    @Test(arguments: [#"["x"]"#, #"["b64"]"#, "[]", "null", "7"])
    func `A token with critical extensions is refused`(_ names: String) async throws {
        try await run { (authentication, provider, _) async throws in
            let plain = try provider.token()
            let parts = plain.split(separator: ".")
            let head = Provider.base64(
                "{\"alg\":\"ES256\",\"kid\":\"one\",\"crit\":\(names)}".utf8)
            let signed = Data("\(head).\(parts[1])".utf8)
            let signature = try provider.key.signature(for: signed).rawRepresentation
            let token = "\(head).\(parts[1]).\(Provider.base64(signature))"
            #expect(try await authentication.name(ofToken: token) == nil)
            #expect(try await authentication.name(ofToken: plain) == "ann")
        }
    }

    @Test func `Only tokens of the allowed types are accepted`() async throws {
        try await run { (authentication, provider, file) async throws in
            for type in ["", "JWT", "jwt", "at+jwt", "application/at+jwt"] {
                let token = try provider.token(header: ["typ": type])
                #expect(try await authentication.name(ofToken: token) == "ann", "\(type)")
            }
            for type in ["logout+jwt", "secevent+jwt", "application/", "x"] {
                let token = try provider.token(header: ["typ": type])
                #expect(try await authentication.name(ofToken: token) == nil, "\(type)")
            }
            var options = JWTAuthenticationOptions(keys: file.path, issuer: "https://id.example", audience: "lfs")
            options.now = { Provider.now }
            options.types = ["at+jwt"]
            let strict = try JWTAuthentication(options, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
            #expect(try await strict.name(ofToken: provider.token()) == nil)
            #expect(try await strict.name(ofToken: provider.token(header: ["typ": ""])) == nil)
            #expect(try await strict.name(ofToken: provider.token(header: ["typ": "at+JWT"])) == "ann")
        }
    }

    @Test func `Opening and ending sessions counts towards the account's rate limit`() async throws {
        try await run { authentication, provider, file in
            let database = try SQLiteDatabase(path: file.deletingLastPathComponent().appending(path: "s.sqlite").path)
            var options = SyncServiceOptions()
            options.requestsPerSecond = 1
            options.now = { Provider.now }
            let service = try await SyncService(database, schema: SyncSchema(), options: options)
            let router = Router()
            router.addMiddleware { ReplyMiddleware() }
            SessionRoutes(service, authenticator: authentication).add(to: router.group("v1/sessions"))
            let jwt = try provider.token()
            let other = try provider.token(["sub": #""bob""#])
            try await serving(router) { server in
                // The first request precedes the account and counts separately. The account then has ten.
                for _ in 0..<11 {
                    let reply = try await server.send(
                        "POST", path: "/v1/sessions", headers: ["Authorization": "Bearer \(jwt)"])
                    #expect(reply.status == 201)
                }
                let refused = try await server.send(
                    "POST", path: "/v1/sessions", headers: ["Authorization": "Bearer \(jwt)"])
                #expect(refused.status == 429 && refused.headers["retry-after"] == "1")
                let token = try await service.addSession(account: "ann")
                let kept = try await server.send(
                    "DELETE", path: "/v1/sessions", headers: ["Authorization": "Bearer \(token)"])
                #expect(kept.status == 429)
                let bob = try await server.send(
                    "POST", path: "/v1/sessions", headers: ["Authorization": "Bearer \(other)"])
                #expect(bob.status == 201)
            }
            await database.close()
        }
    }

    @Test func `Failed logins of an address do not block its valid provider tokens`() async throws {
        try await run { authentication, provider, file in
            let database = try SQLiteDatabase(path: file.deletingLastPathComponent().appending(path: "s.sqlite").path)
            let service = try await SyncService(database, schema: SyncSchema())
            let start = ContinuousClock.now
            let logins = FailedLogins(perMinute: 2) { start }
            let router = Router(context: ServerContext.self)
            router.addMiddleware { LoginLimit(logins) }
            SessionRoutes(service, authenticator: authentication).add(to: router.group("v1/sessions"))
            let jwt = try provider.token()
            try await serving(router) { (server) async throws in
                func status(_ token: String) async throws -> Int {
                    try await server.send("POST", path: "/v1/sessions", headers: ["Authorization": "Bearer \(token)"])
                        .status
                }
                #expect(try await status(jwt) == 201)
                for expected in [401, 401, 429] { #expect(try await status("bad") == expected) }
                #expect(try await status(jwt) == 201)
            }
            await database.close()
        }
    }

    @Test("Changed keys are reloaded, and the old keys stay valid for an unreadable file")
    func rotation() async throws {
        try await run(interval: .zero) { authentication, provider, file in
            let next = Provider(kid: "two")
            #expect(try await authentication.name(ofToken: next.token()) == nil)
            try Provider.write([next.publicKey(["alg": "ES256", "use": "sig"])], to: file)
            #expect(try await authentication.name(ofToken: next.token()) == "ann")
            #expect(try await authentication.name(ofToken: provider.token()) == nil)
            try Data("{".utf8).write(to: file)
            #expect(try await authentication.name(ofToken: next.token()) == "ann")
            // Unusable keys do not affect the others: one has an unknown curve, the other a point that is not on its
            // curve.
            let odd = ["kty": "EC", "crv": "secp256k1", "kid": "odd", "x": "AA", "y": "AA"]
            let broken = next.publicKey(["kid": "broken", "y": Provider.base64([UInt8](repeating: 7, count: 32))])
            try Provider.write([odd, broken, provider.publicKey()], to: file)
            #expect(try await authentication.name(ofToken: provider.token()) == "ann")
            #expect(try await authentication.name(ofToken: next.token()) == nil)
            try Provider.write([broken], to: file)
            #expect(try await authentication.name(ofToken: provider.token()) == "ann")
        }
    }

    @Test("Keys that are reloaded during the first login stay in effect")
    func reloadedDuringFirst() async throws {
        try await ForeignTokenTests.withFolder { folder in
            let (old, new) = (Provider(kid: "old"), Provider(kid: "new"))
            let file = folder.appending(path: "keys.json")
            // The first login adds many keys, so the second one overtakes it.
            let many = (0..<100).map { Provider(kid: "other \($0)").publicKey() }
            try Provider.write(many + [old.publicKey()], to: file)
            var options = JWTAuthenticationOptions(keys: file.path, issuer: "https://id.example", audience: "lfs")
            options.now = { Provider.now }
            let (begun, begin) = AsyncStream.makeStream(of: Void.self)
            let start = ContinuousClock.now
            let calls = Mutex(0)
            let authentication = try JWTAuthentication(
                options, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, interval: .seconds(10),
                now: {
                    let number = calls.withLock { count in
                        count += 1
                        return count
                    }
                    // The first call is that of the initializer, and the second one that of the first login.
                    if number == 2 { begin.finish() }
                    return number <= 2 ? start : start + .seconds(10)
                })
            let token = try old.token()
            async let first = authentication.name(ofToken: token)
            for await _ in begun {}
            try Provider.write([new.publicKey()], to: file)
            #expect(try await authentication.name(ofToken: new.token()) == "ann")
            _ = try await first
            #expect(try await authentication.name(ofToken: new.token()) == "ann")
            #expect(try await authentication.name(ofToken: token) == nil)
        }
    }

    @Test("A key file with private, nameless or unusable keys is refused")
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

    @Test("A provider's token opens and a session's token closes a session")
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
                func send(_ method: String, path: String, token: String, body: String = "") async throws
                    -> RunningServer.Reply
                { try await server.send(method, path: path, headers: ["Authorization": "Bearer \(token)"], body: body) }
                let opened = try await send(
                    "POST", path: "/v1/sessions", token: jwt, body: #"{"device":"Ann's phone"}"#)
                #expect(opened.status == 201)
                let fields = try JSONSerialization.jsonObject(with: opened.body) as? [String: String]
                let token = try #require(fields?["token"])
                #expect(try await send("GET", path: "/v1/sync/schema", token: token).status == 200)
                #expect(try await send("GET", path: "/v1/sync/schema", token: jwt).status == 401)
                #expect(try await service.sessions(account: "ann").map(\.device) == ["Ann's phone"])
                // A session token cannot open another session.
                #expect(try await send("POST", path: "/v1/sessions", token: token).status == 401)
                #expect(try await send("POST", path: "/v1/sessions", token: "x").status == 401)
                #expect(try await send("POST", path: "/v1/sessions", token: jwt, body: "{").status == 400)
                #expect(
                    try await send("POST", path: "/v1/sessions", token: jwt, body: #"{"device":"a\u001b[2J"}"#).status
                        == 400)
                #expect(try await send("POST", path: "/v1/sessions", token: jwt).status == 201)
                let third = try await send("POST", path: "/v1/sessions", token: jwt)
                #expect(third.status == 403 && third.text.contains("too_many"))
                #expect(try await send("DELETE", path: "/v1/sessions", token: jwt).status == 401)
                #expect(try await send("DELETE", path: "/v1/sessions", token: token).status == 204)
                #expect(try await send("DELETE", path: "/v1/sessions", token: token).status == 401)
                #expect(try await send("GET", path: "/v1/sync/schema", token: token).status == 401)
            }
            await database.close()
        }
    }

    @Test("A session ends after its provider's token, unless a newer one extends it")
    func afterToken() async throws {
        try await run { authentication, provider, file in
            let database = try SQLiteDatabase(path: file.deletingLastPathComponent().appending(path: "s.sqlite").path)
            var options = SyncServiceOptions()
            options.now = { Provider.now }
            let service = try await SyncService(database, schema: SyncSchema(), options: options)
            let router = Router()
            router.addMiddleware { ReplyMiddleware() }
            SessionRoutes(service, authenticator: authentication, lifetimeAfterToken: .seconds(86_400))
                .add(to: router.group("v1/sessions"))
            try await serving(router) { server in
                func send(_ jwt: String, body: String = "") async throws -> RunningServer.Reply {
                    try await server.send(
                        "POST", path: "/v1/sessions", headers: ["Authorization": "Bearer \(jwt)"], body: body)
                }
                func end() async throws -> TimeInterval {
                    try #require(try await service.sessions().first?.expiresAt).timeIntervalSince(Provider.now)
                }
                let opened = try await send(try provider.token(["exp": "1800000600"]))
                #expect(opened.status == 201)
                let fields = try JSONSerialization.jsonObject(with: opened.body) as? [String: String]
                let token = try #require(fields?["token"])
                #expect(try await end() == 86_400 + 600)
                let later = try provider.token(["exp": "1800007200"])
                let extended = try await send(later, body: #"{"session":"\#(token)"}"#)
                #expect(extended.status == 200 && extended.text.contains(token))
                #expect(try await end() == 86_400 + 7_200)
                #expect(try await service.sessions().count == 1)
                let other = try await send(
                    try provider.token(["sub": "\"bob\""]), body: #"{"session":"\#(token)"}"#)
                #expect(other.status == 403 && other.text.contains("unknown_session"))
            }
            await database.close()
        }
    }

    @Test("The options of the identity provider require each other and --database")
    func options() throws {
        let all = ["--jwt-keys", "k", "--jwt-issuer", "i", "--jwt-audience", "a"]
        let database = ["--database", "s.sqlite"]
        let options = try ServeCommand.parse(database + all + ["--jwt-claim", "email"]).provider.options()
        #expect(options?.keys == "k" && options?.issuer == "i" && options?.audience == "a")
        #expect(options?.accountClaim == "email")
        #expect(try ServeCommand.parse(database).provider.options() == nil)
        for wrong in [
            Array(all.prefix(4)), Array(all.suffix(4)), ["--jwt-claim", "email"], ["--session-lifetime", "3d"],
            ["--session-after-token", "3d"],
        ] {
            #expect(throws: (any Error).self, "\(wrong)") { try ServeCommand.parse(database + wrong) }
        }
        #expect(throws: (any Error).self) { try ServeCommand.parse(["--storage", "dir:d", "--tokens", "t"] + all) }
    }
}
