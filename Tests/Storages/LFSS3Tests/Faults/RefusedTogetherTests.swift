import Foundation
import LFSHTTPStorage
import LFSStorage
import LFSTesting
import Synchronization
import TestSupport
import Testing

@testable import LFSS3

/// Ten concurrent requests that are all signed wrongly before the first one is refused.
@Suite("Concurrent refused requests", .timeLimit(.minutes(10)))
struct RefusedTogetherTests {
    private static let count = 10

    enum Mistake: Hashable, CaseIterable {
        case twentyMinutes, behindByTwentyMinutes, twentyThreeHours, behindByTwentyThreeHours, region

        /// The offset of this machine's clock in seconds.
        var seconds: Double {
            switch self {
            case .twentyMinutes: 1_200
            case .behindByTwentyMinutes: -1_200
            case .twentyThreeHours: 23 * 3_600
            case .behindByTwentyThreeHours: -23 * 3_600
            case .region: 0
            }
        }
    }

    enum Call: CaseIterable { case put, parts, get, head, list, delete }

    @Test("Concurrent refused requests are all signed again and accepted", arguments: Mistake.allCases, Call.allCases)
    func correct(_ mistake: Mistake, call: Call) async throws {
        let clock = SigningClock { Date().addingTimeInterval(mistake.seconds) }
        try await withFakeS3(clock: clock) {
            if call == .parts { $0.multipartThreshold = 1 }
            $0.maxConcurrentParts = Self.count
        } _: { fake, storage in
            for index in 0..<Self.count where [.get, .head, .delete].contains(call) {
                fake.store([1, 2, 3], at: "folder/\(index)")
            }
            let together = Rendezvous(Self.count)
            fake.fail(nil, times: .max) { exchange in
                guard let refusal = Self.refusal(exchange, mistake: mistake) else {
                    return try exchange.send(exchange.act())
                }
                together.arrive()
                try exchange.refuse(refusal)
            }
            try await withThrowingDiscardingTaskGroup { group in
                for index in 0..<Self.count {
                    group.addTask { try await Self.perform(call, name: "folder/\(index)", storage: storage) }
                }
            }
            let refused = fake.requests.count { Self.isRefused($0, mistake: mistake) }
            #expect(refused == Self.count)
        }
    }

    @Test("Concurrent refused requests ask the credential provider once") func credentials() async throws {
        let asked = Mutex(0)
        let provider = S3CredentialsProvider.custom {
            let number = asked.withLock { count in
                count += 1
                return count
            }
            var credentials = Canary.credentials
            if number > 1 { credentials.sessionToken = Canary.token + "new" }
            return credentials
        }
        try await withFakeS3(credentials: provider) { fake, storage in
            refuse(fake, oldToken: Canary.token, with: "ExpiredToken")
            try await withThrowingDiscardingTaskGroup { group in
                for index in 0..<Self.count {
                    group.addTask { try await Self.perform(.put, name: "folder/\(index)", storage: storage) }
                }
            }
            #expect(asked.withLock { $0 } == 2)
            #expect(fake.objects.count == Self.count)
            #expect(fake.operations.count == 2 * Self.count)
        }
    }

    @Test(
        "Concurrent requests are not repeated if the provider has no new credentials",
        arguments: [
            "ExpiredToken", "TokenRefreshRequired", "InvalidToken", "InvalidAccessKeyId", "SignatureDoesNotMatch",
        ])
    func sameCredentials(_ code: String) async throws {
        let asked = Mutex(0)
        let provider = S3CredentialsProvider.custom {
            asked.withLock { $0 += 1 }
            return Canary.credentials
        }
        try await withFakeS3(credentials: provider) { fake, storage in
            refuse(fake, oldToken: Canary.token, with: code)
            try await withThrowingTaskGroup(of: StorageError.self) { group in
                for index in 0..<Self.count {
                    group.addTask {
                        try await failure { try await Self.perform(.put, name: "folder/\(index)", storage: storage) }
                    }
                }
                for try await error in group { #expect(error.code == .unauthorized) }
            }
            #expect(asked.withLock { $0 } == 2)
            #expect(fake.operations.count == Self.count)
        }
    }

    private func refuse(_ fake: FakeS3, oldToken: String, with code: String) {
        let together = Rendezvous(Self.count)
        fake.fail(nil, times: .max) { exchange in
            guard exchange.request.headers["x-amz-security-token"] == oldToken else {
                return try exchange.send(exchange.act())
            }
            together.arrive()
            try exchange.refuse(.error(400, code: code))
        }
    }

    private static func isRefused(_ request: ServerRequest, mistake: Mistake) -> Bool {
        if mistake == .region { return !(request.headers["authorization"] ?? "").contains("/eu-west-1/s3/") }
        let valid = UTCTime(Date() - 900).stamp...UTCTime(Date() + 900).stamp
        return !valid.contains(request.headers["x-amz-date"] ?? "")
    }

    /// Returns nil for a correctly signed request.
    private static func refusal(_ exchange: FakeExchange, mistake: Mistake) -> FakeReply? {
        guard isRefused(exchange.request, mistake: mistake) else { return nil }
        return mistake == .region
            ? .error(301, code: "PermanentRedirect", headers: ["x-amz-bucket-region": "eu-west-1"])
            : .error(403, code: "RequestTimeTooSkewed", headers: ["Date": FakeReply.date(Date())])
    }

    private static func perform(_ call: Call, name: String, storage: S3Storage) async throws {
        let key = try ObjectKey(name)
        switch call {
        case .put: _ = try await storage.upload(.temporary([1, 2, 3]), to: key, session: .init())
        case .parts:
            _ = try await storage.upload(.temporary(SampleBytes.make(2 << 20)), to: key, session: .init())
        case .get: _ = try await storage.download(DownloadRequest(key), into: DownloadSink { _ in })
        case .head: _ = try await storage.head(key)
        case .list: _ = try await storage.list(ListRequest(prefix: ""))
        case .delete: try await storage.delete(key, abandoning: nil)
        }
    }
}

/// A barrier that holds threads until a number of them have arrived. Later ones pass.
///
/// The condition owns its state.
private final class Rendezvous: Sendable {
    private let condition = NSCondition()
    private let missing: Mutex<Int>

    init(_ count: Int) { missing = Mutex(count) }

    func arrive() {
        condition.lock()
        defer { condition.unlock() }
        missing.withLock { $0 -= 1 }
        condition.broadcast()
        while missing.withLock({ $0 > 0 }) { condition.wait() }
    }
}
