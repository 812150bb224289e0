import GRDB
import LFSWire
import Synchronization
import Testing

@testable import LFSSync

@Suite("Pace of writes next to other writers", .timeLimit(.minutes(10)))
struct WriteThrottleTests {
    private typealias Line = LineServer

    @Test("Transactions are short for a while after another writer and otherwise unlimited")
    func limits() {
        var pace = WriteThrottle()
        func transact(_ begin: Int, end: Int) {
            pace.begin(begin)
            pace.end(end)
        }
        transact(7, end: 10)
        transact(10, end: 20)
        #expect(pace.lineLimit == .max)
        transact(21, end: 30)
        for count in 1...WriteThrottle.patience {
            #expect(pace.lineLimit == WriteThrottle.shortLimit, "\(count)")
            transact(30, end: 30)
        }
        #expect(pace.lineLimit == .max)
    }

    @Test("Rows that arrive after a write of the app are committed in small transactions")
    func pieces() async throws {
        // Two batches of 1,000 rows, each in one piece.
        let rows = (0..<2_000).map { Line.row("RecipeV1", number: $0, id: "r\($0 + 1_000)", data: #""title":"x""#) }
        let width = rows[0].utf8.count + 1
        #expect(rows.allSatisfy { $0.utf8.count + 1 == width })
        try await TestSync.run(isQuick: true) { sync in
            let device = try await sync.device("one", isQuick: true)
            let bytes = Array((rows + [Line.complete]).joined(separator: "\n").utf8) + [0x0A]
            let (commits, source) = AsyncStream<Void>.makeStream()
            try await device.database.write { try $0.execute(sql: "CREATE TABLE diary (text TEXT)") }
            let log = SizeLog { source.yield() }
            device.database.add(transactionObserver: log, extent: .databaseLifetime)
            let server = LineServer(bytes: bytes, pieceSize: width * 1_000) { [database = device.database] piece in
                guard piece == 1 else { return }
                // The first 1,000 rows are committed.
                for await _ in commits { break }
                try await database.write { try $0.execute(sql: "INSERT INTO diary VALUES ('x')") }
            }
            let client = try await server.client(device.database)
            try await client.synchronize()
            #expect(try await device.rows("SELECT count(*) FROM recipe") == ["2000"])
            // The second stream brings nothing new.
            let sizes = log.sizes.filter { $0 > 1 }
            #expect(sizes.first == 1_000 && sizes.dropFirst().reduce(0, +) == 1_000)
            // At most one transaction was already in progress.
            #expect(sizes.dropFirst(2).allSatisfy { $0 <= WriteThrottle.shortLimit } && sizes.count > 10, "\(sizes)")
        }
    }
}

/// An observer that records the number of recipes in each commit.
private final class SizeLog: TransactionObserver {
    private let state = Mutex((open: 0, sizes: [Int]()))
    private let onCommit: @Sendable () -> Void

    init(onCommit: @escaping @Sendable () -> Void) { self.onCommit = onCommit }

    var sizes: [Int] { state.withLock(\.sizes) }

    func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { eventKind.tableName == "recipe" }

    func databaseDidChange(with event: DatabaseEvent) { state.withLock { $0.open += 1 } }

    func databaseDidCommit(_ db: Database) {
        let wroteRecipes = state.withLock { state in
            defer { state.open = 0 }
            guard state.open > 0 else { return false }
            state.sizes.append(state.open)
            return true
        }
        // Commits that only record the stream's position do not count, because the app's row must come after the first
        // recipes.
        if wroteRecipes { onCommit() }
    }

    func databaseDidRollback(_ db: Database) { state.withLock { $0.open = 0 } }
}
