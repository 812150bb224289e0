import LFSStorage
import LFSTesting
import Synchronization
import TestSupport
import Testing

/// Tests which operations a faulty storage spoils, with one storage for each kind of call.
@Suite("Operations of faulty storages", .timeLimit(.minutes(10)))
struct FaultOperationTests {
    struct Fault: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// The operations that the fault can spoil.
        let possible: Set<StorageOperation>
        /// The operations that the fault spoils by default.
        let usual: Set<StorageOperation>
        /// Creates the storage. Nil selects the default operations.
        let make: @Sendable (any RemoteStorage, Set<StorageOperation>?) -> any RemoteStorage
    }

    static let faults = [
        Fault(testDescription: "ByteFlippingStorage", possible: [.upload, .download], usual: [.upload, .download]) {
            if let operations = $1 { ByteFlippingStorage($0, on: operations) } else { ByteFlippingStorage($0) }
        },
        Fault(testDescription: "CuttingStorage", possible: [.upload, .download], usual: [.download]) {
            if let operations = $1 {
                CuttingStorage($0, on: operations, after: 9)
            } else {
                CuttingStorage($0, after: 9)
            }
        },
        Fault(testDescription: "FailingStorage", possible: StorageOperation.all, usual: StorageOperation.all) {
            let error = StorageError(.forbidden, message: "It fails on purpose.")
            return if let operations = $1 {
                FailingStorage($0, on: operations, with: error)
            } else {
                FailingStorage($0, with: error)
            }
        },
        Fault(testDescription: "LyingStorage", possible: [.upload, .download, .delete], usual: [.upload]) {
            if let operations = $1 { LyingStorage($0, on: operations) } else { LyingStorage($0) }
        },
        Fault(testDescription: "SlowStorage", possible: StorageOperation.all, usual: StorageOperation.all) {
            if let operations = $1 {
                SlowStorage($0, on: operations, delay: .seconds(1), clock: RefusingClock())
            } else {
                SlowStorage($0, delay: .seconds(1), clock: RefusingClock())
            }
        },
        Fault(testDescription: "TruncatingStorage", possible: [.upload, .download], usual: [.upload]) {
            if let operations = $1 { TruncatingStorage($0, on: operations) } else { TruncatingStorage($0) }
        },
        Fault(testDescription: "UnreachableStorage", possible: StorageOperation.all, usual: StorageOperation.all) {
            if let operations = $1 { UnreachableStorage($0, on: operations) } else { UnreachableStorage($0) }
        },
    ]

    @Test("A faulty storage spoils the given operations and no others", arguments: faults)
    func given(_ fault: Fault) async throws {
        for operation in StorageOperation.allCases {
            let spoiled = try await spoiled { fault.make($0, [operation]) }
            #expect(spoiled == fault.possible.intersection([operation]), "\(operation)")
        }
        #expect(try await spoiled { fault.make($0, StorageOperation.all) } == fault.possible)
        #expect(try await spoiled { fault.make($0, []) } == [])
    }

    @Test("A faulty storage spoils its default operations if none are given", arguments: faults)
    func usual(_ fault: Fault) async throws {
        #expect(try await spoiled { fault.make($0, nil) } == fault.usual)
    }

    @Test("A gate holds only the given operation", arguments: StorageOperation.allCases)
    func gate(_ operation: StorageOperation) async throws {
        for called in StorageOperation.allCases {
            let call = try await Call(of: called)
            let gate = GatedStorage(call.memory, on: [operation])
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    await gate.waitForArrivals(1)
                    gate.open()
                }
                let isSound = try await call.isSound(on: gate)
                #expect(isSound, "the unchanged storage passes")
                group.cancelAll()
            }
            #expect(gate.arrivalCount == (called == operation ? 1 : 0))
        }
    }

    private func spoiled(_ make: (any RemoteStorage) -> any RemoteStorage) async throws -> Set<StorageOperation> {
        var spoiled: Set<StorageOperation> = []
        for operation in StorageOperation.allCases {
            let call = try await Call(of: operation)
            do {
                if try await !call.isSound(on: make(call.memory)) { spoiled.insert(operation) }
            } catch is StorageError {
                spoiled.insert(operation)
            }
        }
        return spoiled
    }
}

/// A call and its expected effect on a storage with one object.
private struct Call {
    let operation: StorageOperation
    let memory = InMemoryStorage()
    private let content = SampleBytes.make(10_000)
    private let stored: ObjectKey
    private let other: ObjectKey

    init(of operation: StorageOperation) async throws {
        self.operation = operation
        stored = try ObjectKey("test/stored")
        other = try ObjectKey("test/other")
        _ = try await memory.upload(.temporary(content), to: stored, session: UploadSession())
    }

    /// Performs the call. Returns true if it had the expected effect.
    func isSound(on storage: any RemoteStorage) async throws -> Bool {
        switch operation {
        case .upload:
            _ = try await storage.upload(.temporary(content), to: other, session: UploadSession())
            return memory.bytes(of: other) == content
        case .download:
            let received = Mutex<[UInt8]>([])
            let sink = DownloadSink { bytes in received.withLock { $0 += bytes } }
            _ = try await storage.download(DownloadRequest(stored), into: sink)
            return received.withLock { $0 } == content
        case .head: return try await storage.head(stored).byteCount == Int64(content.count)
        case .delete:
            try await storage.delete(stored, abandoning: nil)
            return memory.bytes(of: stored) == nil
        case .list: return try await storage.list(ListRequest(prefix: "test/")).objects.map(\.key) == [stored]
        }
    }
}

/// A clock whose sleep fails at once.
private struct RefusingClock: Clock {
    var now: ContinuousClock.Instant { ContinuousClock.now }
    var minimumResolution: Duration { .zero }

    func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
        throw CancellationError()
    }
}
