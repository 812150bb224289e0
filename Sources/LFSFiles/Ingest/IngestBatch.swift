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

    /// Files that are written at once. An fsync waits for the device, so there are more of them than processors.
    private static let parallel = 8
    /// Files that one thread writes before it syncs them, and holds open until then. Fewer where the limit on open
    /// files is low.
    private static let largestShare = 16

    private let area: StagingArea
    private let requests: [IngestRequest]
    private let flag: CancellationFlag
    private let onProgress: @Sendable (Int64) -> Void
    /// By the index of the request; nil for those that have not ended.
    private let outcomes: Mutex<[Outcome?]>

    init(
        area: StagingArea, requests: [IngestRequest], flag: CancellationFlag,
        onProgress: @escaping @Sendable (Int64) -> Void
    ) {
        self.area = area
        self.requests = requests
        self.flag = flag
        self.onProgress = onProgress
        outcomes = Mutex(Array(repeating: nil, count: requests.count))
    }

    func run() async throws -> [Result<IngestedFile, FileError>] {
        var (together, alone): ([Int], [Int]) = ([], [])
        for (index, request) in requests.enumerated() {
            if request.source.needsThreadAlone { together.append(index) } else { alone.append(index) }
        }
        do {
            try await write(together)
            for index in alone { try await ingestAlone(index) }
            return outcomes.withLock { $0.compactMap(\.self) }
        } catch {
            throw await discarding(after: FileError.keeping(error, at: area.path))
        }
    }

    private func ingest(at index: Int) -> Ingest {
        let meter = Meter(onProgress)
        return Ingest(area: area, id: requests[index].id, onProgress: meter.note)
    }

    /// Writes what needs no more than a thread, several shares at once, and syncs the folder for all of them.
    private func write(_ indices: [Int]) async throws {
        let openCount = OpenFileLimit.quarter
        let parallel = min(Self.parallel, openCount)
        let share = max(1, min(Self.largestShare, indices.count / parallel, openCount / parallel))
        _ = try await runEach(indices.chunks(of: share), atMost: parallel) { share in
            try await BlockingPool.shared.run(watching: self.flag) { flag in try self.write(share, flag) }
        }
        let made = made.map(\.id)
        if !made.isEmpty { try await BlockingPool.shared.run { _ in try self.area.settle(made) } }
    }

    /// The device begins with each file while the next ones are written, so that the syncs find little left to do.
    private func write(_ share: ArraySlice<Int>, _ flag: CancellationFlag) throws {
        var written: [(index: Int, writer: IngestWriter)] = []
        do {
            for index in share {
                switch try ingest(at: index).write(requests[index].source, flag) {
                case .success(let writer):
                    writer.beginSeal()
                    written.append((index, writer))
                case .failure(let failure): outcomes.withLock { $0[index] = .failure(failure) }
                }
            }
            while let (index, writer) = written.first {
                written.removeFirst()
                let file = try Ingest.seal(writer, in: area)
                outcomes.withLock { $0[index] = .success(file) }
            }
        } catch {
            throw written.reduce(FileError.keeping(error, at: area.path)) { failure, unsealed in
                Ingest.discarding(unsealed.writer, after: failure, at: area.path)
            }
        }
    }

    /// Takes in what waits for somebody else, or is renamed.
    private func ingestAlone(_ index: Int) async throws {
        let outcome: Outcome
        do {
            outcome = .success(try await ingest(at: index).run(requests[index].source, flag))
        } catch let error as FileError where error.code.isOfSource {
            outcome = .failure(error)
        }
        outcomes.withLock { $0[index] = outcome }
    }

    /// The requests whose bytes are in the area.
    private var made: [IngestRequest] {
        zip(requests, outcomes.withLock { $0 }).compactMap { request, outcome in
            if case .success? = outcome { request } else { nil }
        }
    }

    /// Leaves nothing. Returns the failure, with a word on what stays nevertheless.
    private func discarding(after failure: FileError) async -> FileError {
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
        case .handle(let handle, _): BorrowedDescriptor.status(handle.fileDescriptor)?.isRegularFile == true
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
