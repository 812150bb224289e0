import Dispatch
import LFSWire
import Synchronization

/// Makes batches of lines out of a reply as it comes in, and has one of them waiting at the most: whoever brings the
/// bytes waits until the batch before was taken.
///
/// A batch ends when it is full, and 200 ms after its first line, so that lines that come slowly are not waited for.
///
/// Owner of splitter, reader and the lines of the piece under way: the thread that brings the bytes. Owner of the rest:
/// the mutex.
final class LineFeed: @unchecked Sendable {
    // Unchecked for the first five: one thread at a time brings bytes, as `ResponseBody.Sink` says.
    private var splitter = LineSplitter()
    private var reader: SyncLineReader
    private var lines: [SyncLine] = []
    /// Of the batch, with what the pieces before have brought.
    private var lineCount = 0
    private var byteCount = 0

    /// What a batch has at the most.
    static let lineLimit = 1_000
    static let byteLimit = 256 << 10
    /// How long a line waits for the next ones. A batch that is begun within that time of another one's beginning may
    /// wait twice as long.
    static let patience = Duration.milliseconds(200)

    private struct State {
        /// The lines of the batch that pieces before have brought, and their bytes.
        var lines: [SyncLine] = []
        var byteCount = 0
        /// Which batch this is.
        var number = 0
        /// Whether its time is over, and the one before is not done with.
        var isDue = false
        var own: SyncScope?
        var failure: SyncError?
    }

    private let state: Mutex<State>
    /// Apart from the mutex: a batch is yielded within that, which takes the lock of the task that waits for it, and a
    /// task that is cancelled calls ``end()`` within its lock.
    private let isEnded = Atomic(false)
    private let room = DispatchSemaphore(value: 1)
    private let source: AsyncStream<[SyncLine]>.Continuation
    /// In their order. Call ``taken()`` after each.
    let batches: AsyncStream<[SyncLine]>
    private let began: AsyncStream<Int>.Continuation
    /// The numbers of batches that have got lines and are not full; the latest counts.
    private let beginnings: AsyncStream<Int>

    /// - Parameter own: the scope of the account's own rows; nil before a first line has named it.
    init(own: SyncScope?) {
        reader = SyncLineReader(own: own)
        state = Mutex(State(own: own))
        (batches, source) = AsyncStream.makeStream()
        (beginnings, began) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Takes the next bytes. Blocks while a batch waits.
    ///
    /// - Throws: ``SyncError`` for a line that is none, or of another account; `CancellationError` when nobody takes
    ///   batches any more.
    func take(_ bytes: UnsafeRawBufferPointer) throws {
        splitter.append(bytes)
        (lineCount, byteCount) = state.withLock { ($0.lines.count, $0.byteCount) }
        // What a piece has brought is looked at by others when all of it is read.
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
                SyncError(.unexpectedReply, "The sync server sent what is no line: \(error.message)", cause: error))
        } catch let error as SyncError {
            throw fail(error)
        }
    }

    /// The scope of the account's own rows; nil before a line has told it.
    var own: SyncScope? { state.withLock { $0.own } }

    /// Whether the batch under way waits only for the one before.
    var isDue: Bool { state.withLock { $0.isDue } }

    /// Why the bytes were not taken; nil while nothing is wrong with them.
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

    /// The reply is over. A last line without its end is dropped. Never blocks: what is left is a batch beside one that
    /// may be waiting yet.
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
        (lineCount, byteCount) = (0, 0)
    }

    /// Lets what the thread has read be handed by others as well.
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

    /// Within the lock, so that of two who hand over the first is also the first in the stream.
    private func yield(_ state: inout State) {
        guard !state.lines.isEmpty else { return }
        source.yield(state.lines)
        (state.lines, state.byteCount, state.isDue) = ([], 0, false)
        state.number += 1
    }

    /// A batch is done with.
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

    /// Hands over what there is of a batch. While the one before is not done with it waits, and goes on growing.
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

    /// Nobody takes batches any more. A cancelled task calls it, so it takes no lock that is held while a batch is
    /// yielded.
    func end() {
        isEnded.store(true, ordering: .releasing)
        source.finish()
        began.finish()
        room.signal()
    }
}

extension SyncLine {
    /// Whether somebody waits for what it says: nothing may follow it for a while.
    fileprivate var isEnd: Bool {
        switch self {
        case .complete, .reset, .failure: true
        default: false
        }
    }
}
