import Dispatch
import LFSWire
import Synchronization

/// A feed that turns a reply into batches of lines as its bytes arrive. At most one batch waits. The thread that
/// delivers the bytes blocks until the previous batch was taken.
///
/// A batch ends when it is full, or 200 ms after its first line so that it does not wait for slow lines.
///
/// The thread that delivers the bytes owns the splitter, the reader and the lines of the current piece. The mutex owns
/// the rest.
final class LineBatcher: @unchecked Sendable {
    // Unchecked because of the first five properties. One thread at a time delivers bytes, as `ResponseBody.Sink`
    // documents.
    private var splitter = LineSplitter()
    private var reader: SyncLineReader
    private var lines: [SyncLine] = []
    /// The number of lines in the current batch, including those of earlier pieces.
    private var lineCount = 0
    private var byteCount = 0

    /// The maximum number of lines in a batch.
    static let lineLimit = 1_000
    static let byteLimit = 256 << 10
    /// The time that a line waits for the next lines. A batch that begins within this time after another one began may
    /// wait twice as long.
    static let patience = Duration.milliseconds(200)

    private struct State {
        /// The lines of the current batch from earlier pieces, and their bytes.
        var lines: [SyncLine] = []
        var byteCount = 0
        /// The number of the current batch.
        var number = 0
        /// True if the batch's time is over and the previous batch is still being processed.
        var isDue = false
        var own: SyncScope?
        var failure: SyncError?
    }

    private let state: Mutex<State>
    /// Outside of the mutex, to avoid a deadlock. Yielding a batch inside the mutex takes the lock of the task that
    /// waits for it. A cancelled task calls ``end()`` inside that lock.
    private let isEnded = Atomic(false)
    private let room = DispatchSemaphore(value: 1)
    private let source: AsyncStream<[SyncLine]>.Continuation
    /// The batches in their order. Call ``taken()`` after each.
    let batches: AsyncStream<[SyncLine]>
    private let began: AsyncStream<Int>.Continuation
    /// The numbers of batches that have received lines and are not full. Only the latest number matters.
    private let beginnings: AsyncStream<Int>

    /// - Parameter own: the scope of the account's own rows, or nil before a first line has named it.
    init(own: SyncScope?) {
        reader = SyncLineReader(own: own)
        state = Mutex(State(own: own))
        (batches, source) = AsyncStream.makeStream()
        (beginnings, began) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Accepts the next bytes. Blocks while a batch waits.
    ///
    /// - Throws: ``SyncError`` for an invalid line or a line of another account, and `CancellationError` if the batches
    ///   are no longer consumed.
    func take(_ bytes: UnsafeRawBufferPointer) throws {
        splitter.append(bytes)
        (lineCount, byteCount) = state.withLock { ($0.lines.count, $0.byteCount) }
        // Other threads see the lines of a piece once all of it is read.
        defer { leave() }
        do {
            while try splitter.next({ line in
                lines.append(try read(line))
                lineCount += 1
                byteCount += line.count
            }) {
                let isEnd = lines.last?.isEnd == true
                if isEnd || lineCount >= Self.lineLimit || byteCount >= Self.byteLimit { try hand() }
            }
        } catch let error as WireFailure {
            throw fail(
                SyncError(
                    .unexpectedReply, message: "The sync server sent an invalid line: \(error.message)", cause: error))
        } catch let error as SyncError {
            throw fail(error)
        }
    }

    /// The scope of the account's own rows, or nil before a line has named it.
    var own: SyncScope? { state.withLock { $0.own } }

    /// True if the current batch waits only for the previous one.
    var isDue: Bool { state.withLock { $0.isDue } }

    /// The reason why the bytes were refused, or nil.
    var failure: SyncError? { state.withLock { $0.failure } }

    private func fail(_ error: SyncError) -> SyncError {
        state.withLock { $0.failure = error }
        return error
    }

    private func read(_ line: UnsafeRawBufferPointer) throws -> SyncLine {
        let known = reader.own
        let read = try reader.read(line)
        guard reader.own != known else { return read }
        guard known == nil else { throw SyncError.ofOtherAccount }
        state.withLock { $0.own = reader.own }
        return read
    }

    /// Ends the feed after the reply. Drops a last line without its end. Never blocks: the remaining lines become a
    /// batch even if another one is still waiting.
    func finish() {
        leave()
        state.withLock { yield(&$0) }
        source.finish()
        began.finish()
    }

    private func hand() throws {
        room.wait()
        guard !isEnded.load(ordering: .acquiring) else {
            room.signal()
            throw CancellationError()
        }
        leave()
        state.withLock { yield(&$0) }
        lineCount = 0
        byteCount = 0
    }

    /// Publishes the lines that the thread has read, so that others can hand them over as well.
    private func leave() {
        guard !lines.isEmpty else { return }
        let begun: Int? = state.withLock { state in
            let isFirst = state.lines.isEmpty
            if isFirst { swap(&state.lines, &lines) } else { state.lines += lines }
            state.byteCount = byteCount
            return isFirst ? state.number : nil
        }
        lines = []
        if let begun { began.yield(begun) }
    }

    /// Yields the current batch. Must run inside the lock, so that concurrent callers yield their batches in order.
    private func yield(_ state: inout State) {
        guard !state.lines.isEmpty else { return }
        source.yield(state.lines)
        state.lines = []
        state.byteCount = 0
        state.isDue = false
        state.number += 1
    }

    /// Makes room for another batch after one was processed. Hands over the waiting batch if it is due.
    func taken() {
        room.signal()
        if let number = state.withLock({ $0.isDue ? $0.number : nil }) { handDue(number) }
    }

    /// Ends batches whose time is over, until the stream ends or the task is cancelled.
    func endSlowBatches(_ clock: any Clock<Duration>) async {
        for await number in beginnings {
            do { try await clock.sleep(for: Self.patience) } catch { return }
            handDue(number)
        }
    }

    /// Hands over the lines of an incomplete batch. While the previous batch is being processed, the new one waits and
    /// keeps growing.
    private func handDue(_ number: Int) {
        let isDue = state.withLock { state in
            guard state.number == number, !state.lines.isEmpty else { return false }
            state.isDue = true
            return true
        }
        guard isDue, room.wait(timeout: .now()) == .success else { return }
        let isHanded = state.withLock { state in
            guard state.number == number, !isEnded.load(ordering: .acquiring) else { return false }
            yield(&state)
            return true
        }
        if !isHanded { room.signal() }
    }

    /// Ends the feed when its batches are no longer consumed. A cancelled task calls it, so it takes no lock that is
    /// held while a batch is yielded.
    func end() {
        isEnded.store(true, ordering: .releasing)
        source.finish()
        began.finish()
        room.signal()
    }
}

extension SyncLine {
    /// True if a consumer waits for this line. No further line may follow it for a while.
    fileprivate var isEnd: Bool {
        switch self {
        case .complete, .reset, .failure: true
        default: false
        }
    }
}
