import Foundation
package import LFSSystem
import Synchronization

/// A source, and the id for its bytes.
package struct IngestRequest: Sendable {
    package var source: IngestSource
    package var id: FileID

    package init(_ source: IngestSource, as id: FileID) {
        self.source = source
        self.id = id
    }
}

extension StagingArea {
    /// Makes the bytes of many sources durable. A few threads process them, and the folder is synced once for all.
    ///
    /// - Parameters:
    ///   - flag: cancels the ingest, like a cancellation of the task.
    ///   - onProgress: receives the number of bytes ingested since its last call, from any thread.
    /// - Returns: for each request, in order, its file, or the failure if the source caused it.
    /// - Throws: ``FileError`` if the area cannot store the bytes, and after a cancellation. Then the area contains
    ///   nothing of the requests.
    package func ingest(
        all requests: [IngestRequest], watching flag: CancellationFlag = CancellationFlag(),
        onProgress: @escaping @Sendable (Int64) -> Void = { _ in }
    ) async throws -> [Result<IngestedFile, FileError>] {
        try await IngestBatch(area: self, requests: requests, flag: flag, onProgress: onProgress).run()
    }
}

/// An ingest of many sources at once.
private final class IngestBatch: Sendable {
    private typealias Outcome = Result<IngestedFile, FileError>

    /// The maximum number of files that are written at once. An fsync waits for the device, so the number may exceed
    /// that of the processors.
    private static let parallel = 8
    /// The maximum number of files that one thread writes and holds open before it syncs them. It is smaller if the
    /// limit on open files is low.
    private static let largestShare = 16

    private let area: StagingArea
    private let requests: [IngestRequest]
    private let flag: CancellationFlag
    private let onProgress: @Sendable (Int64) -> Void
    /// The outcomes by the index of the request, nil while a request is not finished.
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

    /// Writes the sources that need only a thread, several shares at once, and syncs the folder for all of them.
    private func write(_ indices: [Int]) async throws {
        let openCount = OpenFileLimit.share
        let parallel = min(Self.parallel, openCount)
        let share = max(1, min(Self.largestShare, indices.count / parallel, openCount / parallel))
        _ = try await runEach(indices.chunks(of: share), atMost: parallel) { share in
            try await BlockingPool.shared.run(watching: self.flag) { flag in try self.write(share, flag: flag) }
        }
        let made = made.map(\.id)
        if !made.isEmpty { try await BlockingPool.shared.run { _ in try self.area.settle(made) } }
    }

    /// Writes and then seals a share. The device starts with each file while the next ones are written, which shortens
    /// the syncs.
    private func write(_ share: ArraySlice<Int>, flag: CancellationFlag) throws {
        var written: [(index: Int, writer: IngestWriter)] = []
        do {
            for index in share {
                if case .original(let original) = requests[index].source {
                    let outcome = try read(original, at: index, flag: flag)
                    outcomes.withLock { $0[index] = outcome }
                    continue
                }
                switch try ingest(at: index).write(requests[index].source, flag: flag) {
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

    private func read(_ original: OriginalSource, at index: Int, flag: CancellationFlag) throws -> Outcome {
        do {
            return .success(
                try original.read(
                    as: requests[index].id, keepingIn: area.originalBytes, flag, Meter(onProgress).note))
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            let failure = FileError.keeping(error, at: area.path)
            if (failure.cause as? SystemError)?.isShortage == true { throw failure }
            return .failure(failure)
        }
    }

    /// Ingests a source that waits for other code or programs, or that is renamed.
    private func ingestAlone(_ index: Int) async throws {
        let outcome: Outcome
        do {
            outcome = .success(try await ingest(at: index).run(requests[index].source, flag: flag))
        } catch let error as FileError where error.code.isOfSource {
            outcome = .failure(error)
        }
        outcomes.withLock { $0[index] = outcome }
    }

    /// The requests whose bytes are in the area.
    private var made: [IngestRequest] {
        zip(requests, outcomes.withLock { $0 }).compactMap { request, outcome in
            if case .success(let file)? = outcome, file.original == nil { request } else { nil }
        }
    }

    /// Removes all files of the batch. Returns the failure, and names in its message what could not be removed.
    private func discarding(after failure: FileError) async -> FileError {
        do {
            try await area.discard(made)
            return failure
        } catch {
            return FileError(
                failure.code, message: "\(failure.message) \(error)", path: failure.path, cause: failure.cause)
        }
    }
}

extension StagingArea {
    /// Removes the bytes of files that will not be inserted. A file that was moved in is moved back, because it may be
    /// the only copy.
    ///
    /// - Throws: ``FileError``, which names the location of a file that is elsewhere. All others are removed.
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
            throw FileError(.system, message: words, path: source)
        }
        do {
            try remove(request.id)
        } catch {
            throw FileError.keeping(error, at: self.path)
        }
    }
}

extension IngestSource {
    /// True if a thread can read it to its end and waits only for the disk.
    fileprivate var needsThreadAlone: Bool {
        switch self {
        case .bytes, .copying, .original: true
        case .handle(let handle, _): BorrowedDescriptor.status(handle.fileDescriptor)?.isRegularFile == true
        case .moving, .chunks, .stream: false
        }
    }
}

extension FileError.Code {
    /// True if the source caused the error, rather than the place that stores the bytes.
    package var isOfSource: Bool {
        switch self {
        case .missing, .notAFile, .sourceChanged, .sourceFailed: true
        default: false
        }
    }
}

/// A converter of one file's running count into increments for the sum of all files.
private final class Meter: Sendable {
    private let last = Atomic<Int64>(0)
    private let onProgress: @Sendable (Int64) -> Void

    init(_ onProgress: @escaping @Sendable (Int64) -> Void) { self.onProgress = onProgress }

    func note(_ count: Int64) { onProgress(count - last.exchange(count, ordering: .relaxed)) }
}
