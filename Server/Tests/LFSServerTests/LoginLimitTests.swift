import HTTPTypes
import Hummingbird
import Synchronization
import Testing

@testable import LFSServer

@Suite("Limit of failed logins", .timeLimit(.minutes(10)))
struct LoginLimitTests {
    /// A time that only the test moves. The mutex owns it.
    private final class Time: Sendable {
        private let start = ContinuousClock.now
        private let passed = Mutex(Duration.zero)

        var now: ContinuousClock.Instant { start.advanced(by: passed.withLock { $0 }) }

        func pass(_ duration: Duration) { passed.withLock { $0 += duration } }
    }

    @Test(arguments: [
        ("10.0.0.0/8", "10.1.2.3", true), ("10.0.0.0/8", "11.1.2.3", false), ("192.0.2.1", "192.0.2.1", true),
        ("192.0.2.1", "192.0.2.2", false), ("192.0.2.128/25", "192.0.2.127", false), ("0.0.0.0/0", "8.8.8.8", true),
        ("0.0.0.0/0", "2001:db8::1", false), ("2001:db8::/33", "2001:db8:7fff::1", true),
        ("2001:db8::/33", "2001:db8:8000::1", false), ("10.0.0.0/8", "::ffff:10.0.0.1", true),
        ("10.0.0.0/8", "x", false),
    ])
    func `A range contains the addresses with its first bits`(_ range: String, address: String, isIn: Bool) throws {
        #expect(try #require(AddressRange(range)).contains(address) == isIn)
    }

    @Test(arguments: ["", "10.0.0.0/33", "10.0.0.0/", "10.0.0/8", "x", "::1/129", "10.0.0.0/8/8", "10.0.0.0/-1"])
    func `An invalid address range is refused`(_ text: String) { #expect(AddressRange(text) == nil) }

    @Test(arguments: [
        ("x-forwarded-for", "198.51.100.1, 203.0.113.7", "203.0.113.7"),
        ("x-forwarded-for", "203.0.113.7, 10.0.0.2", "203.0.113.7"),
        ("x-forwarded-for", "203.0.113.7:4711, 10.0.0.2", "203.0.113.7"),
        ("x-forwarded-for", "not an address, 10.0.0.2", "10.0.0.2"), ("x-forwarded-for", "10.0.0.3", "10.0.0.3"),
        ("forwarded", "for=198.51.100.1;proto=http, For=\"[2001:db8::1]:4711\"", "2001:db8::1"),
        ("forwarded", "for=unknown", "10.0.0.1"), ("forwarded", "for=203.0.113.7, for=10.0.0.2", "203.0.113.7"),
    ])
    func `The client is the last address that no trusted proxy has`(_ field: String, value: String, client: String)
        throws
    {
        let trust = ForwardedTrust.proxies([try #require(AddressRange("10.0.0.0/8"))])
        let headers: HTTPFields = [try #require(HTTPField.Name(field)): value]
        #expect(trust.client("10.0.0.1", headers: headers) == client)
        // Anyone else can write the field.
        #expect(trust.client("198.51.100.99", headers: headers) == "198.51.100.99")
        #expect(ForwardedTrust.none.client("10.0.0.1", headers: headers) == "10.0.0.1")
    }

    @Test func `Failures limit an address, but not its valid tokens and other addresses`() {
        let time = Time()
        let logins = FailedLogins(perMinute: 3) { time.now }
        logins.record("good", from: "2001:db8::1", isValid: true)
        for number in 0..<3 {
            #expect(logins.permits("bad \(number)", from: "2001:db8::1"))
            logins.record("bad \(number)", from: "2001:db8::1", isValid: false)
        }
        #expect(!logins.permits("bad", from: "2001:db8::2"))
        #expect(logins.permits("good", from: "2001:db8::2") && logins.permits("bad", from: "2001:db8:0:1::1"))
        time.pass(.seconds(19))
        #expect(!logins.permits("bad", from: "2001:db8::2"))
        time.pass(.seconds(2))
        #expect(logins.permits("bad", from: "2001:db8::2"))
        // A revoked token counts as a failure from then on.
        logins.record("good", from: "2001:db8::1", isValid: false)
        #expect(!logins.permits("good", from: "2001:db8::1"))
    }

    @Test func `The middleware refuses made-up tokens without a look-up on every route`() async throws {
        let lookUps = Count()
        let start = ContinuousClock.now
        let logins = FailedLogins(perMinute: 2) { start }
        let router = Router(context: ServerContext.self)
        router.addMiddleware { LoginLimit(logins) }
        router.get("open") { _, _ in "ok\n" }
        router.get("private") { request, context in
            lookUps.add()
            guard BearerToken.text(of: request) == "good" else { return Response(status: .unauthorized) }
            try await Connections.count(context, for: "ann")
            return Response(status: .noContent)
        }
        try await serving(router) { server in
            func status(_ path: String, token: String) async throws -> Int {
                try await server.send("GET", path: path, headers: ["Authorization": "Bearer \(token)"]).status
            }
            #expect(try await status("/private", token: "good") == 204)
            for number in 0..<5 {
                _ = try await status("/open", token: "bad \(number)")
                #expect(try await status("/private", token: "bad \(number)") == (number < 2 ? 401 : 429))
            }
            #expect(try await status("/private", token: "good") == 204)
        }
        #expect(lookUps.value == 4)
    }
}
