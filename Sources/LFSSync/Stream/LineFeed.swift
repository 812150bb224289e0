import Dispatch
import LFSWire
import Synchronization

/// Makes batches of lines out of a reply as it comes in, and has one of them waiting at the most: whoever brings the
/// bytes waits until the batch before was taken.
///
/// Owner of splitter, reader and the batch under way: the thread that brings the bytes. Owner of the rest: the mutex.
final class LineFeed: @unchecked Sendable {
    // Unchecked for the first four: one thread at a time brings bytes, as `ResponseBody.Sink` says.
    private var splitter = LineSplitter()
    private var reader: SyncLineReader
    private var lines: [SyncLine] = []
    private var byteCount = 0

    /// What a batch has at the most.
    static let lineLimit = 1_000
    static let byteLimit = 256 << 10

    private struct State {
        var isEnded = false
        var own: SyncScope?
        var failure: SyncError?
    }

    private let state: Mutex<State>
    private let room = DispatchSemaphore(value: 1)
    private let source: AsyncStream<[SyncLine]>.Continuation
    /// In their order. Call ``taken()`` after each.
    let batches: AsyncStream<[SyncLine]>

    /// - Parameter own: the scope of the account's own rows; nil before a first line has named it.
    init(own: SyncScope?) {
        reader = SyncLineReader(own: own)
        state = Mutex(State(own: own))
        (batches, source) = AsyncStream.makeStream()
    }

    /// Takes the next bytes. Blocks while a batch waits.
    ///
    /// - Throws: ``SyncError`` for a line that is none, or of another account; `CancellationError` when nobody takes
    ///   batches any more.
    func take(_ bytes: UnsafeRawBufferPointer) throws {
        splitter.append(bytes)
        do {
            while try splitter.next({ line in
                lines.append(try read(line))
                byteCount += line.count
            }) {
                let isEnd = lines.last?.isEnd == true
                if isEnd || lines.count >= Self.lineLimit || byteCount >= Self.byteLimit { try hand() }
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
        if !lines.isEmpty { source.yield(lines) }
        source.finish()
    }

    private func hand() throws {
        room.wait()
        guard !state.withLock({ $0.isEnded }) else {
            room.signal()
            throw CancellationError()
        }
        source.yield(lines)
        (lines, byteCount) = ([], 0)
    }

    /// A batch is done with.
    func taken() { room.signal() }

    /// Nobody takes batches any more.
    func end() {
        state.withLock { $0.isEnded = true }
        source.finish()
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
