import LFSStorage
import LFSTesting
import Synchronization
import TestSupport
import Testing

@Suite("Retries of interactive calls", .timeLimit(.minutes(10)))
struct RetryingStorageTests {
    private let memory = InMemoryStorage()
    private let clock = ManualClock()
    private let content = SampleBytes.make(10_000)

    private func retrying(_ base: some RemoteStorage, random: Double = 0) -> RetryingStorage<some RemoteStorage> {
        RetryingStorage(base, maxAttempts: 4, clock: clock, random: { random })
    }

    private func stored() async throws -> ObjectKey {
        let key = try ObjectKey("test/content")
        _ = try await memory.upload(.temporary(content), to: key, session: UploadSession())
        return key
    }

    private func download(
        _ request: DownloadRequest, from storage: some RemoteStorage
    ) async throws -> [UInt8] {
        let received = Mutex<[UInt8]>([])
        _ = try await storage.download(
            request,
            into: DownloadSink { bytes in
                received.withLock { $0.append(contentsOf: bytes) }
            })
        return received.withLock { $0 }
    }

    @Test("A retried download continues after the last received byte")
    func resumesDownload() async throws {
        let key = try await stored()
        let cut = CuttingStorage(memory, after: 3_000)
        #expect(try await download(DownloadRequest(key), from: retrying(cut)) == content)
        #expect(cut.requests.map(\.range) == [nil, 3_000..<Int64.max, 6_000..<Int64.max, 9_000..<Int64.max])
        #expect(cut.requests.dropFirst().allSatisfy { $0.entityTag == "v1" })
    }

    @Test("A retried download of a range continues within the range")
    func resumesRange() async throws {
        let key = try await stored()
        let cut = CuttingStorage(memory, after: 40)
        let bytes = try await download(DownloadRequest(key, range: 100..<200), from: retrying(cut))
        #expect(bytes == Array(content[100..<200]))
        #expect(cut.requests.map(\.range) == [100..<200, 140..<200, 180..<200])
    }

    @Test("A retried download ends if the object was replaced")
    func replacedObject() async throws {
        let key = try await stored()
        let memory = memory
        let cut = CuttingStorage(memory, after: 3_000) { attempt in
            guard attempt == 2 else { return }
            _ = try await memory.upload(.temporary([1, 2, 3]), to: key, session: UploadSession())
        }
        let error = await #expect(throws: StorageError.self) {
            try await download(DownloadRequest(key), from: retrying(cut))
        }
        #expect(error?.code == .changed)
    }

    @Test("A download is not retried if the storage reports no version")
    func untoldVersion() async throws {
        let key = try await stored()
        let cut = CuttingStorage(memory, after: 3_000, tellsVersion: false)
        let error = await #expect(throws: StorageError.self) {
            try await download(DownloadRequest(key), from: retrying(cut))
        }
        #expect(error?.code == .timeout)
        #expect(cut.requests.count == 1)
    }

    /// A storage that returns its current version, whichever version is requested.
    private struct ForgetfulStorage: StorageWrapper {
        let base: any RemoteStorage

        func download(_ request: DownloadRequest, into sink: DownloadSink) async throws -> RemoteObject {
            try await base.download(DownloadRequest(request.key, range: request.range), into: sink)
        }
    }

    @Test("A retried download ends if the storage continues with another version")
    func otherVersion() async throws {
        let key = try await stored()
        let (memory, other) = (memory, SampleBytes.make(10_000, seed: 2))
        let cut = CuttingStorage(ForgetfulStorage(base: memory), after: 3_000) { attempt in
            guard attempt == 2 else { return }
            _ = try await memory.upload(.temporary(other), to: key, session: UploadSession())
        }
        let error = await #expect(throws: StorageError.self) {
            _ = try await download(DownloadRequest(key), from: retrying(cut))
        }
        #expect(error?.code == .changed)
    }

    /// A storage that returns its current version and reports it only for whole objects.
    private struct TaglessRangeStorage: StorageWrapper {
        let base: any RemoteStorage

        func download(_ request: DownloadRequest, into sink: DownloadSink) async throws -> RemoteObject {
            let current = DownloadRequest(request.key, range: request.range)
            if request.range == nil { return try await base.download(current, into: sink) }
            return try await base.download(current, into: DownloadSink { try sink.write($0) })
        }
    }

    @Test("A retried download ends if the storage continues without a version")
    func missingVersion() async throws {
        let key = try await stored()
        let (memory, other) = (memory, SampleBytes.make(10_000, seed: 2))
        let cut = CuttingStorage(TaglessRangeStorage(base: memory), after: 3_000) { attempt in
            guard attempt == 2 else { return }
            _ = try await memory.upload(.temporary(other), to: key, session: UploadSession())
        }
        let error = await #expect(throws: StorageError.self) {
            _ = try await download(DownloadRequest(key), from: retrying(cut))
        }
        #expect(error?.code == .changed)
        #expect(cut.requests.count == 2)
    }

    @Test("A retry accepts another version if no byte of the first one arrived")
    func otherVersionBeforeTheFirstByte() async throws {
        let key = try await stored()
        let (memory, other) = (memory, SampleBytes.make(10_000, seed: 2))
        let cut = CuttingStorage(memory, after: 0, times: 1) { attempt in
            guard attempt == 2 else { return }
            _ = try await memory.upload(.temporary(other), to: key, session: UploadSession())
        }
        let again = CuttingStorage(cut, after: 3_000, times: 2)
        #expect(try await download(DownloadRequest(key), from: retrying(again)) == other)
    }

    @Test("A retry waits as long as the storage asks, up to the cap", arguments: [(5, 5), (86_400, 60)])
    func retryAfter(_ asked: Int, waited: Int) async throws {
        let key = try await stored()
        let busy = StorageError(.throttled, message: "Slow down.", retryAfter: .seconds(asked))
        let storage = retrying(FailingStorage(memory, on: [.head], with: busy))
        async let object = storage.head(key)
        await clock.waitForSleepers { $0 == [.seconds(waited)] }
        clock.advance(by: .seconds(waited))
        #expect(try await object.byteCount == 10_000)
    }

    @Test("The last attempt throws the last error")
    func givesUp() async throws {
        let failing = FailingStorage(memory, on: [.list], times: 9, with: StorageError(.serverError, message: "Down."))
        let error = await #expect(throws: StorageError.self) {
            try await retrying(failing).list(ListRequest(prefix: ""))
        }
        #expect(error?.code == .serverError)
        #expect(failing.failuresLeft == 5)
    }

    @Test("A permanent error is not retried", arguments: [StorageError.Code.missing, .forbidden, .changed, .cancelled])
    func permanentErrors(_ code: StorageError.Code) async throws {
        let failing = FailingStorage(memory, times: 9, with: StorageError(code, message: "No."))
        let key = try ObjectKey("test/content")
        await #expect(throws: StorageError.self) { try await retrying(failing).head(key) }
        #expect(failing.failuresLeft == 8)
    }

    @Test("Uploads and deletes are not retried, because the database keeps their attempts")
    func passesThrough() async throws {
        let failing = FailingStorage(memory, times: 9, with: StorageError(.unreachable, message: "Off."))
        let storage = retrying(failing)
        let key = try ObjectKey("test/content")
        await #expect(throws: StorageError.self) {
            try await storage.upload(.temporary([1]), to: key, session: UploadSession())
        }
        await #expect(throws: StorageError.self) { try await storage.delete(key, abandoning: nil) }
        #expect(failing.failuresLeft == 7)
    }

    @Test("A sink that failed is not called again")
    func sinkErrors() async throws {
        let key = try await stored()
        let calls = Mutex(0)
        let sink = DownloadSink { _ in
            calls.withLock { $0 += 1 }
            throw JournalIsBusy()
        }
        await #expect(throws: JournalIsBusy.self) {
            try await retrying(memory).download(DownloadRequest(key), into: sink)
        }
        #expect(calls.withLock { $0 } == 1)
    }
}
