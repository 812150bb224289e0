import GRDB
import LFSWire
import Synchronization
import Testing

@testable import LFSSync

@Suite("While others write", .timeLimit(.minutes(10)))
struct WriterPaceTests {
    private typealias Line = LineServer

    @Test("a transaction takes all lines while nobody else writes, few after somebody has, and all again later on")
    func limits() {
        var pace = WriterPace()
        func transact(_ begin: Int, _ end: Int) {
            pace.begin(begin)
            pace.end(end)
        }
        transact(7, 10)
        transact(10, 20)
        #expect(pace.lineLimit == .max)
        transact(21, 30)
        for count in 1...WriterPace.patience {
            #expect(pace.lineLimit == WriterPace.shortLimit, "\(count)")
            transact(30, 30)
        }
        #expect(pace.lineLimit == .max)
    }

    @Test("rows that come after the app has written are committed in small pieces, and none is lost")
    func pieces() async throws {
        // Two batches of a thousand rows, and a piece for each.
        let rows = (0..<2_000).map { Line.row("RecipeV1", $0, "r\($0 + 1_000)", #""title":"x""#) }
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
                // The first thousand are there.
                for await _ in commits { break }
                try await database.write { try $0.execute(sql: "INSERT INTO diary VALUES ('x')") }
            }
            let client = try await server.client(device.database)
            try await client.synchronize()
            #expect(try await device.rows("SELECT count(*) FROM recipe") == ["2000"])
            // The second stream brings nothing new.
            let sizes = log.sizes.filter { $0 > 1 }
            #expect(sizes.first == 1_000 && sizes.dropFirst().reduce(0, +) == 1_000)
            // One transaction has been on its way already, at the most.
            #expect(sizes.dropFirst(2).allSatisfy { $0 <= WriterPace.shortLimit } && sizes.count > 10, "\(sizes)")
        }
    }
}

/// How many recipes each commit has written.
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
        // Not for those that note where the stream stands: the app's row has to come after the first recipes.
        if wroteRecipes { onCommit() }
    }

    func databaseDidRollback(_ db: Database) { state.withLock { $0.open = 0 } }
}
