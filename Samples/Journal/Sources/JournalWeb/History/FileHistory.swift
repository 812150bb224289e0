import Foundation
import LFS
import ServiceLifecycle
import Synchronization

/// A service that keeps the last events of the library and of each file, from the start of the process on.
///
/// Its size is bounded. The database rows are authoritative.
final class FileHistory: Service {
    /// The counts since the start of the process.
    struct Totals: Hashable, Sendable {
        var uploaded = FileAmount()
        var freed = FileAmount()
        var fetched = FileAmount()
    }

    private struct State {
        var recent: [HistoryLine] = []
        var files: [FileID: [HistoryLine]] = [:]
        /// The files in the order of their first lines, so that the oldest are dropped first.
        var order: [FileID] = []
        var transfers: [FileID: FileTransfer] = [:]
        var totals = Totals()
    }

    static let maxFiles = 1_000
    static let maxLinesOfFile = 50
    static let maxRecent = 100

    private let events: AsyncStream<LFSEvent>
    private let times: LocalTime
    private let state = Mutex(State())
    private let broadcast = Broadcast<HistoryLine>()

    init(_ events: AsyncStream<LFSEvent>, times: LocalTime) {
        self.events = events
        self.times = times
    }

    func run() async throws {
        for await event in events.cancelOnGracefulShutdown() {
            note(event)
            add(HistoryLine(event, at: Date(), times: times))
        }
    }

    /// Adds a line and passes it to open pages.
    func add(_ line: HistoryLine) {
        state.withLock { state in
            Self.append(line, to: &state.recent, limit: Self.maxRecent)
            guard let file = line.file else { return }
            if state.files[file] == nil { state.order.append(file) }
            Self.append(line, to: &state.files[file, default: []], limit: Self.maxLinesOfFile)
            if state.order.count > Self.maxFiles { state.files[state.order.removeFirst()] = nil }
        }
        broadcast.send(line)
    }

    /// Adds the line of a file whose local copy was freed, which no event of the library reports.
    func addFreed(_ id: FileID, byteCount: Int64) {
        state.withLock { $0.totals.freed.add(byteCount) }
        add(
            HistoryLine(
                "freed", file: id, at: times.seconds(Date()),
                text: "The local copy with \(Words.bytes(byteCount)) was freed. The object stays on the storage.",
                badge: .remote(isHere: false), stage: .freed))
    }

    /// Returns the lines of one file, the oldest first.
    func lines(of id: FileID) -> [HistoryLine] { state.withLock { $0.files[id] ?? [] } }

    /// Returns the last lines of all files, the newest first.
    func recent(_ count: Int) -> [HistoryLine] { state.withLock { $0.recent.suffix(count).reversed() } }

    /// Returns the transfers that are running and large enough for progress.
    func transfers() -> [FileID: FileTransfer] { state.withLock { $0.transfers } }

    /// Returns the counts since the start.
    func totals() -> Totals { state.withLock { $0.totals } }

    /// Returns the lines from now on. A consumer that reads too slowly misses some.
    func watch() -> AsyncStream<HistoryLine> { broadcast.stream(buffering: 500) }

    private func note(_ event: LFSEvent) {
        state.withLock { state in
            switch event {
            case .progress(let id, let progress):
                state.transfers[id] = FileTransfer(direction: .upload, progress: progress)
            case .downloading(let id, let progress):
                state.transfers[id] = FileTransfer(direction: .download, progress: progress)
            case .uploaded(let id, _, let byteCount):
                state.transfers[id] = nil
                state.totals.uploaded.add(byteCount)
            case .downloaded(let id, let byteCount):
                state.transfers[id] = nil
                state.totals.fetched.add(byteCount)
            case .queued(let id), .failed(let id, _, _), .cancelled(let id), .downloadFailed(let id, _),
                .removed(let id):
                state.transfers[id] = nil
            case .outage(.some): state.transfers = [:]
            case .outage(nil), .databaseFailed: break
            @unknown default: break
            }
        }
    }

    private static func append(_ line: HistoryLine, to lines: inout [HistoryLine], limit: Int) {
        if line.isProgress {
            // Several transfers report their progress in turn.
            let index = lines.suffix(20).lastIndex { $0.file == line.file }
            if let index, lines[index].event == line.event { lines.remove(at: index) }
        }
        lines.append(line)
        if lines.count > limit { lines.removeFirst() }
    }
}

/// A number of files and the sum of their sizes.
struct FileAmount: Hashable, Sendable {
    var files = 0
    var byteCount: Int64 = 0

    init(files: Int = 0, byteCount: Int64 = 0) {
        self.files = files
        self.byteCount = byteCount
    }

    init(_ amount: EvictionReport.Amount) {
        files = amount.files
        byteCount = amount.byteCount
    }

    /// Adds a file. A row may have any size, so the sum may wrap around.
    mutating func add(_ count: Int64) {
        files += 1
        byteCount &+= count
    }

    /// The difference, which is not negative: both sides are counted at different times.
    func subtracting(_ other: FileAmount) -> FileAmount {
        FileAmount(files: max(0, files - other.files), byteCount: max(0, byteCount - other.byteCount))
    }
}
