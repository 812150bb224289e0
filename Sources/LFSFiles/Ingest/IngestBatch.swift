import Foundation
package import LFSSystem
import Synchronization

/// A source, and the id that its bytes get.
package struct IngestRequest: Sendable {
    package var source: IngestSource
    package var id: FileID

    package init(_ source: IngestSource, as id: FileID) {
        self.source = source
        self.id = id
    }
}

extension StagingArea {
    /// Makes the bytes of many sources durable: a few threads work them off, and the folder is synced once for all.
    ///
    /// - Parameters:
    ///   - flag: ends it early, as the cancellation of the task does.
    ///   - onProgress: takes the number of bytes that have come in since it was called last, from any thread.
    /// - Returns: for each request, in order, its file, or the failure for which its source is to blame.
    /// - Throws: ``FileError`` when the place does not take the bytes, and when it is cancelled; nothing is left in the
    ///   area then.
    package func ingest(
        all requests: [IngestRequest], watching flag: CancellationFlag = CancellationFlag(),
        onProgress: @escaping @Sendable (Int64) -> Void = { _ in }
    ) async throws -> [Result<IngestedFile, FileError>] {
        try await IngestBatch(area: self, requests: requests, flag: flag, onProgress: onProgress).run()
    }
}

/// Takes in many sources at once.
private final class IngestBatch: Sendable {
    private typealias Outcome = Result<IngestedFile, FileError>

    private struct State {
        var outcomes: [Outcome?]
        /// Why the whole ends.
        var failure: FileError?
    }

    /// Files that are written at once. An fsync waits for the device, so there are more of them than processors.
    private static let parallel = 8
    /// Files that one thread writes before it syncs them, and holds open meanwhile.
    private static let largestShare = 16

    private let area: StagingArea
    private let requests: [IngestRequest]
    private let flag: CancellationFlag
    private let onProgress: @Sendable (Int64) -> Void
    private let next = Atomic(0)
    private let state: Mutex<State>

    init(
        area: StagingArea, requests: [IngestRequest], flag: CancellationFlag,
        onProgress: @escaping @Sendable (Int64) -> Void
    ) {
        self.area = area
        self.requests = requests
        self.flag = flag
        self.onProgress = onProgress
        state = Mutex(State(outcomes: Array(repeating: nil, count: requests.count)))
    }

    func run() async throws -> [Result<IngestedFile, FileError>] {
        do {
            try await write()
            try await settle()
            try await ingestOthers()
            return state.withLock { $0.outcomes.compactMap(\.self) }
        } catch {
            throw await discarding(after: FileError.keeping(error, at: area.path))
        }
    }

    /// Writes what needs no more than a thread.
    private func write() async throws {
        let threads = min(Self.parallel, requests.count)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<threads {
                group.addTask {
                    do {
                        try await BlockingPool.shared.run(watching: self.flag) { try self.work($0) }
                    } catch {
                        self.fail(error)
                    }
                }
            }
        }
        if let failure = state.withLock({ $0.failure }) { throw failure }
    }

    /// One thread's share: some requests after others, until none is left or one has ended the whole.
    ///
    /// The device begins with each file while the next ones are written, so that the syncs find little left to do.
    private func work(_ flag: CancellationFlag) throws {
        while let share = nextShare() {
            var written: [(index: Int, writer: IngestWriter)] = []
            do {
                for index in share where requests[index].source.needsThreadAlone {
                    switch try write(requests[index], flag) {
                    case .success(let writer): written.append((index, writer))
                    case .failure(let failure): state.withLock { $0.outcomes[index] = .failure(failure) }
                    }
                }
                while let (index, writer) = written.first {
                    written.removeFirst()
                    let file = try Ingest.seal(writer, in: area)
                    state.withLock { $0.outcomes[index] = .success(file) }
                }
            } catch {
                fail(error)
                // What cannot be removed now is swept later.
                for (_, writer) in written { do { try writer.discard() } catch { fail(error) } }
                return
            }
        }
    }

    private func write(
        _ request: IngestRequest, _ flag: CancellationFlag
    ) throws -> Result<IngestWriter, FileError> {
        let meter = Meter(onProgress)
        let result = try Ingest(area: area, id: request.id, onProgress: meter.note).write(request.source, flag)
        if case .success(let writer) = result { writer.beginSeal() }
        return result
    }

    /// The next few requests; nil when none is left, or the whole ends.
    private func nextShare() -> Range<Int>? {
        let count = max(1, min(Self.largestShare, requests.count / Self.parallel))
        let start = next.add(count, ordering: .relaxed).oldValue
        guard start < requests.count, state.withLock({ $0.failure == nil }) else { return nil }
        return start..<min(start + count, requests.count)
    }

    private func fail(_ error: any Error) {
        let failure = FileError.keeping(error, at: area.path)
        state.withLock { $0.failure = $0.failure ?? failure }
    }

    /// Has the names of what is written on the device.
    private func settle() async throws {
        let made = state.withLock { state in state.outcomes.compactMap { try? $0?.get().id } }
        if made.isEmpty { return }
        try await BlockingPool.shared.run { _ in try self.area.settle(made) }
    }

    /// What waits for somebody else, or is renamed, comes in one by one.
    private func ingestOthers() async throws {
        for (index, request) in requests.enumerated() where !request.source.needsThreadAlone {
            let meter = Meter(onProgress)
            let outcome: Outcome
            do {
                let ingest = Ingest(area: area, id: request.id, onProgress: meter.note)
                outcome = .success(try await ingest.run(request.source, flag))
            } catch let error as FileError where error.code.isOfSource {
                outcome = .failure(error)
            }
            state.withLock { $0.outcomes[index] = outcome }
        }
    }

    /// Leaves nothing. Returns the failure, with a word on what stays nevertheless.
    private func discarding(after failure: FileError) async -> FileError {
        let outcomes = state.withLock { $0.outcomes }
        let made = zip(requests, outcomes).filter { (try? $0.1?.get()) != nil }.map(\.0)
        do {
            try await area.discard(made)
            return failure
        } catch {
            return FileError(
                failure.code, "\(failure.message) \(error)", path: failure.path, cause: failure.cause)
        }
    }
}

extension StagingArea {
    /// Removes the bytes of files that will not be inserted. What was moved in goes back to where it was, for it may be
    /// the only copy.
    ///
    /// - Throws: ``FileError`` with what is where else; the others are gone.
    package func discard(_ requests: [IngestRequest]) async throws {
        try await BlockingPool.shared.run { _ in
            var failure: FileError?
            for request in requests {
                do throws(FileError) {
                    try self.discard(request)
                } catch {
                    failure = failure ?? error
                }
            }
            if let failure { throw failure }
        }
    }

    private func discard(_ request: IngestRequest) throws(FileError) {
        if case .moving(let source) = request.source {
            guard let words = giveBack(request.id, to: source) else { return }
            throw FileError(.system, words, path: source)
        }
        do {
            try remove(request.id)
        } catch {
            throw FileError.keeping(error, at: self.path)
        }
    }
}

extension IngestSource {
    /// Whether it is read to its end by a thread that waits for the disk alone.
    fileprivate var needsThreadAlone: Bool {
        switch self {
        case .bytes, .copying: true
        case .handle(let handle): BorrowedDescriptor.status(handle.fileDescriptor)?.isRegularFile == true
        case .moving, .chunks, .stream: false
        }
    }
}

extension FileError.Code {
    /// Whether the source is to blame, and not the place that keeps the bytes.
    package var isOfSource: Bool {
        switch self {
        case .missing, .notAFile, .sourceChanged, .sourceFailed: true
        default: false
        }
    }
}

/// Turns the running count of one file into steps for the sum of all.
private final class Meter: Sendable {
    private let last = Atomic<Int64>(0)
    private let onProgress: @Sendable (Int64) -> Void

    init(_ onProgress: @escaping @Sendable (Int64) -> Void) { self.onProgress = onProgress }

    func note(_ count: Int64) { onProgress(count - last.exchange(count, ordering: .relaxed)) }
}
