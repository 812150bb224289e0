import Foundation
import LFSHTTPStorage
import LFSStorage
import LFSTesting
import Synchronization
import TestSupport
import Testing

@testable import LFSS3

@Suite("Correction of refused requests", .timeLimit(.minutes(10)))
struct CorrectionTests {
    /// A provider that gives the old credentials first and then new ones if it has any.
    private final class Provider: Sendable {
        let asked = Mutex(0)
        let hasNew: Bool
        init(hasNew: Bool) { self.hasNew = hasNew }

        var provider: S3CredentialsProvider {
            .custom {
                let count = self.asked.withLock { count in
                    count += 1
                    return count
                }
                var credentials = Canary.credentials
                if count > 1, self.hasNew { credentials.sessionToken = Canary.token + "new" }
                return credentials
            }
        }
    }

    @Test("A request is repeated once with new credentials", arguments: ["ExpiredToken", "TokenRefreshRequired"])
    func expired(_ code: String) async throws {
        let provider = Provider(hasNew: true)
        try await withFakeS3(credentials: provider.provider) { fake, storage in
            refuseOldToken(fake, code: code)
            _ = try await storage.upload(.temporary([1, 2, 3]), to: .sample(), session: .init())
            #expect(fake.operations == [.put, .put])
            #expect(fake.stored == [1, 2, 3])
            #expect(provider.asked.withLock { $0 } == 2)
            _ = try await storage.head(.sample())
            #expect(provider.asked.withLock { $0 } == 2)
        }
    }

    @Test("A request is not repeated if the provider has no other credentials", arguments: FakeS3.basicOperations)
    func stillExpired(_ operation: FakeS3.Operation) async throws {
        let provider = Provider(hasNew: false)
        try await withFakeS3(credentials: provider.provider) { fake, storage in
            refuseOldToken(fake, code: "ExpiredToken")
            let error = try await failure { try await storage.perform(operation) }
            #expect(error.code == .unauthorized)
            #expect(!error.isRetryable)
            // A HEAD reply has no body with the reason, so the client repeats the request as a GET.
            #expect(fake.operations == (operation == .head ? [.head, .get] : [operation]))
            #expect(provider.asked.withLock { $0 } == 2)
        }
    }

    private func refuseOldToken(_ fake: FakeS3, code: String) {
        fake.fail(nil, times: .max) { exchange in
            if exchange.request.headers["x-amz-security-token"] == Canary.token {
                try exchange.refuse(.error(400, code: code))
            } else {
                try exchange.send(exchange.act())
            }
        }
    }

    @Test("A request is signed again once with the server time", arguments: FakeS3.basicOperations, [-1_200.0, 1_200])
    func clockIsOff(_ operation: FakeS3.Operation, seconds: Double) async throws {
        let clock = SigningClock { Date().addingTimeInterval(seconds) }
        try await withFakeS3(clock: clock) { fake, storage in
            if operation != .put { fake.store([1, 2, 3], at: "folder/file") }
            fake.fail(nil, times: .max) { exchange in
                let valid = UTCTime(Date() - 900).stamp...UTCTime(Date() + 900).stamp
                if valid.contains(exchange.request.headers["x-amz-date"] ?? "") {
                    return try exchange.send(exchange.act())
                }
                try exchange.refuse(
                    .error(403, code: "RequestTimeTooSkewed", headers: ["Date": FakeReply.date(Date())]))
            }
            try await storage.perform(operation)
            #expect(fake.operations == [operation, operation])
            fake.forgetOperations()
            _ = try await storage.list(ListRequest(prefix: ""))
            #expect(fake.operations == [.list], "the time is remembered")
        }
    }

    @Test("A request is given up if the server refuses its own time", arguments: FakeS3.basicOperations)
    func stillSkewed(_ operation: FakeS3.Operation) async throws {
        let clock = SigningClock { Date().addingTimeInterval(-1_200) }
        try await withFakeS3(clock: clock) { fake, storage in
            // Each reply names a later time, so that there is always something to correct.
            let hours = Mutex(0.0)
            fake.fail(nil, times: .max) { exchange in
                let date = hours.withLock { hours in
                    hours += 1
                    return Date().addingTimeInterval(hours * 3_600)
                }
                try exchange.refuse(.error(403, code: "RequestTimeTooSkewed", headers: ["Date": FakeReply.date(date)]))
            }
            let error = try await failure { try await storage.perform(operation) }
            #expect([.unauthorized, .forbidden].contains(error.code))
            #expect(!error.isRetryable)
            #expect(fake.operations == [operation, operation])
        }
    }

    @Test("A request is not signed again if the times agree") func sameTime() async throws {
        try await withFakeS3 { fake, storage in
            fake.fail(nil, times: .max) { exchange in
                try exchange.refuse(
                    .error(403, code: "RequestTimeTooSkewed", headers: ["Date": FakeReply.date(Date())]))
            }
            let error = try await failure { try await storage.perform(.list) }
            #expect(error.code == .unauthorized)
            #expect(fake.operations == [.list])
        }
    }

    @Test(
        "A request is signed again for another region", arguments: FakeS3.basicOperations, [(301, true), (400, false)])
    func otherRegion(_ operation: FakeS3.Operation, refusal: (status: Int, isField: Bool)) async throws {
        // In a reply to HEAD only the header names the region.
        guard operation != .head || refusal.isField else { return }
        try await withFakeS3 { fake, storage in
            if operation != .put { fake.store([1, 2, 3], at: "folder/file") }
            fake.fail(nil, times: .max) { exchange in
                let signed = exchange.request.headers["authorization"] ?? ""
                if signed.contains("/eu-west-1/s3/") { return try exchange.send(exchange.act()) }
                try exchange.refuse(Self.wrongRegion("eu-west-1", status: refusal.status, isField: refusal.isField))
            }
            try await storage.perform(operation)
            #expect(fake.operations == [operation, operation])
            fake.forgetOperations()
            try await storage.perform(.list)
            #expect(fake.operations == [.list], "the region is remembered")
        }
    }

    @Test("A request is given up if one region redirects to the next", arguments: [(301, true), (400, false)])
    func regionsInACircle(_ refusal: (status: Int, isField: Bool)) async throws {
        try await withFakeS3 { fake, storage in
            fake.fail(nil, times: .max) { exchange in
                let signed = exchange.request.headers["authorization"] ?? ""
                let next = signed.contains("/eu-west-1/") ? "eu-west-2" : "eu-west-1"
                try exchange.refuse(Self.wrongRegion(next, status: refusal.status, isField: refusal.isField))
            }
            let error = try await failure { try await storage.perform(.put) }
            #expect(error.code == .misconfigured)
            #expect(!error.isRetryable)
            #expect(error.message.contains("'eu-west-2'"))
            #expect(fake.operations == [.put, .put])
        }
    }

    private static func wrongRegion(_ region: String, status: Int, isField: Bool) -> FakeReply {
        let code = status == 301 ? "PermanentRedirect" : "AuthorizationHeaderMalformed"
        return .error(
            status, code: code, headers: isField ? ["x-amz-bucket-region": region] : [:],
            more: isField ? "" : "<Region>\(region)</Region>")
    }
}
