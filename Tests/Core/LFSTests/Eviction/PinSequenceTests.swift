import Dispatch
import GRDB
import LFSDatabase
import LFSSystem
import Synchronization
import TestSupport
import Testing

@testable import LFS

@Suite("Pinning the files of a sequence", .timeLimit(.minutes(10)))
struct PinSequenceTests {
    @Test("All files of a single-pass sequence are pinned if the transaction is retried")
    func onePass() async throws {
        try await withHost { host in
            try await withManager(host) { lfs in
                let files = try await keptFiles(2, host: host, lfs: lfs)
                for isPinned in [true, false] {
                    let ids = OnePass(files.map(\.id))
                    try await withSharedFailure(host, lfs: lfs) {
                        if isPinned { try await lfs.pin(ids) } else { try await lfs.unpin(ids) }
                    }
                    for file in files { try await #expect(lfs.isPinned(file.id) == isPinned) }
                }
            }
        }
    }

    /// Runs a write in one batch with a write that fails.
    private func withSharedFailure(
        _ host: TestHost, lfs: LFSManager, _ write: @escaping @Sendable () async throws -> Void
    ) async throws {
        let (held, isHeld) = (DispatchSemaphore(value: 0), Latch())
        host.database.asyncWriteWithoutTransaction { _ in
            isHeld.open()
            // The time limit ends the wait if the test fails.
            _ = held.wait(timeout: .now() + 600)
        }
        await isHeld.wait()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await write() }
            try await yield(while: lfs.runner.pendingCount < 1)
            group.addTask { #expect(await errorCode { try await lfs.pin([.unknown]) } == .unknownFile) }
            try await yield(while: lfs.runner.pendingCount < 2)
            held.signal()
            try await group.waitForAll()
        }
    }
}

/// A sequence that gives its elements to the first iterator only. The mutex owns them.
private final class OnePass<Element: Sendable>: Sequence, Sendable {
    private let elements: Mutex<[Element]>

    init(_ elements: [Element]) { self.elements = Mutex(elements) }

    func makeIterator() -> IndexingIterator<[Element]> {
        elements.withLock { elements in
            defer { elements = [] }
            return elements.makeIterator()
        }
    }
}

@Suite("Pinning the files of a request", .timeLimit(.minutes(10)))
struct PinRequestTests {
    @Test("Pinning a request pins its current files, with its order and limit")
    func request() async throws {
        try await withHost { host in
            try await withManager(host) { lfs in
                let files = try await keptFiles(4, host: host, lfs: lfs)
                let newest = FileData.order(FileData.Columns.id.desc).limit(2)
                #expect(try await lfs.pin(newest) == 2)
                for (index, file) in files.enumerated() { try await #expect(lfs.isPinned(file.id) == (index > 1)) }
                let report = try await lfs.evictAll()
                #expect(report.evicted.files == 2 && report.stays[.pinned]?.files == 2)
                #expect(try await lfs.unpin(FileData.all()) == 4)
                #expect(try await lfs.evictAll().evicted.files == 2)
                #expect(try await lfs.pin(FileData.none()) == 0)
            }
        }
    }
}
