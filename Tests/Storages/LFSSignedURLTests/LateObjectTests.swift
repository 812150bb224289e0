import LFSHTTP
import LFSStorage
import Synchronization
import Testing

@testable import LFSSignedURL

/// Tests in which the store answers a GET with 404 before an upload ends. The signing server is asked afterwards.
@Suite("Downloads of late objects", .timeLimit(.minutes(10)))
struct LateObjectTests {
    private let bytes: [UInt8] = [1, 2, 3]

    /// Makes a store in which an object appears right after the first GET was answered with 404.
    private func lateObject() -> FakeSigner {
        let isFirst = Mutex(true)
        return FakeSigner { [bytes] request, fake in
            guard request.origin.host == "store", request.method == .get else { return nil }
            let wasFirst = isFirst.withLock { isFirst in
                defer { isFirst = false }
                return isFirst
            }
            guard wasFirst else { return nil }
            fake.state.withLock { $0.objects["space/file"] = bytes }
            return FakeSigner.reply(404, text: "<Code>NoSuchKey</Code>")
        }
    }

    private func getCount(_ fake: FakeSigner) -> Int {
        fake.requests.count { $0.origin.host == "store" && $0.method == .get }
    }

    @Test("A download gets an object that appeared after the store answered 404")
    func appears() async throws {
        let fake = lateObject()
        #expect(try await fake.storage().contents() == bytes)
        #expect(getCount(fake) == 2)
    }

    @Test("A range behind the end of an object that appeared after a 404 is empty")
    func rangeBehindEnd() async throws {
        let fake = lateObject()
        #expect(try await fake.storage().contents(range: 10..<20) == [])
        #expect(getCount(fake) == 2)
    }

    @Test("A download of an object that exists nowhere reports it as missing")
    func missing() async throws {
        let fake = FakeSigner()
        let error = try await storageError { try await fake.storage().contents() }
        #expect(error?.code == .missing)
        #expect(getCount(fake) == 1)
    }

    @Test("A download reports a wrong place after two 404s for an object of the server")
    func wrongPlace() async throws {
        let fake = FakeSigner { request, _ in
            let isDownload = request.origin.host == "store" && request.method == .get
            return isDownload ? FakeSigner.reply(404, text: "<Code>NoSuchBucket</Code>") : nil
        }
        fake.state.withLock { $0.objects["space/file"] = bytes }
        let error = try await storageError { try await fake.storage().contents() }
        #expect(error?.code == .misconfigured)
        #expect(getCount(fake) == 2)
    }
}
