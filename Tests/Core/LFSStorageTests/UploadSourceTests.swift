import Foundation
import LFSStorage
import LFSSystem
import LFSTesting
import Synchronization
import TestSupport
import Testing

@Suite("Upload sources that a function reads")
struct UploadSourceTests {
    private struct Gone: Error {}

    private func source(_ byteCount: Int64 = 10, reading read: @escaping UploadSource.Read) -> UploadSource {
        UploadSource(byteCount: byteCount, sha256: SampleBytes.sha256([]), reading: read)
    }

    private func read(_ source: UploadSource) throws(StorageError) -> Int {
        var bytes = [UInt8](repeating: 0, count: 4)
        do {
            return try bytes.withUnsafeMutableBytes { try source.read(into: $0, at: 3) }
        } catch let error as StorageError {
            throw error
        } catch {
            throw StorageError(.unknown, message: "Another kind of error: \(error)")
        }
    }

    @Test("The function is called with offsets, and nothing is verified before")
    func offsets() throws {
        let asked = EventLog<Int64>()
        let source = source { buffer, offset in
            asked.add(offset)
            return min(buffer.count, 2)
        }
        try source.requireUnchanged()
        #expect(try read(source) == 2)
        #expect(asked.events == [3])
    }

    @Test("A source rethrows a storage error and reports others as unreadable")
    func errors() throws {
        let changed = StorageError(.sourceChanged, message: "It is another one by now.")
        let same = #expect(throws: StorageError.self) { try read(source { _, _ in throw changed }) }
        #expect(same?.code == .sourceChanged)
        #expect(same?.message == changed.message)
        let other = #expect(throws: StorageError.self) { try read(source { _, _ in throw Gone() }) }
        #expect(other?.code == .sourceUnreadable)
        #expect(other?.cause is Gone)
    }

    @Test("A refusal to read means a locked device only where the system locks files", arguments: [true, false])
    func locked(_ locksFiles: Bool) {
        let refusal = SystemError(call: "pread", path: "/a", errno: EPERM)
        let error = UploadSource.failure("read", error: refusal, locksFiles: locksFiles)
        #expect(error.code == (locksFiles ? .sourceLocked : .sourceUnreadable))
        #expect(error.isRetryable)
    }

    @Test("A byte count that does not fit into the buffer is refused", arguments: [-1, 5, .max])
    func impossibleCount(_ count: Int) {
        let error = #expect(throws: StorageError.self) { try read(source { _, _ in count }) }
        #expect(error?.code == .sourceUnreadable)
    }

    @Test("A source that ends too early is refused as changed", arguments: [0, 100, 300_000])
    func tooShort(_ byteCount: Int) async throws {
        let bytes = SampleBytes.make(byteCount)
        let source = UploadSource(byteCount: Int64(byteCount) + 1, sha256: SampleBytes.sha256(bytes)) {
            buffer, offset in
            let piece = bytes[Int(offset)...].prefix(buffer.count)
            piece.withUnsafeBytes { buffer.copyMemory(from: $0) }
            return piece.count
        }
        let storage = InMemoryStorage()
        let error = await #expect(throws: StorageError.self) {
            try await storage.upload(source, to: ObjectKey("test/a"), session: UploadSession())
        }
        #expect(error?.code == .sourceChanged)
        #expect(storage.keys.isEmpty)
    }
}
