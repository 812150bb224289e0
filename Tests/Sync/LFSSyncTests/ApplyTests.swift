import Foundation
import GRDB
import LFSDatabase
import LFSSystem
import LFSWire
import Synchronization
import TestSupport
import Testing

@testable import LFSSync
@testable import LFSSyncServer

@Suite("Applying a batch", .timeLimit(.minutes(10)))
struct ApplyTests {
    private static let rows = """
        INSERT INTO recipe (id, title) VALUES ('r1', 'Soup'), ('r2', 'Stew'), ('r3', 'Pie');
        INSERT INTO step (id, recipeID) VALUES ('s1', 'r1'), ('s2', 'r2')
        """

    @Test("A batch is applied in one transaction with its rows and positions")
    func oneTransaction() async throws {
        try await TestSync.run { sync in
            let (one, two) = (try await sync.device("one"), try await sync.device("two"))
            try await one.execute(Self.rows)
            try await one.sync()
            let log = CommitLog()
            two.database.add(transactionObserver: log, extent: .databaseLifetime)
            try await two.sync()
            let writing = log.commits.filter { $0.contains("recipe") || $0.contains("step") }
            #expect(writing.count == 1)
            #expect(writing.first?.isSuperset(of: ["recipe", "step", "lfs_sync_checkpoint"]) == true)
        }
    }

    @Test("A kill at any statement leaves a whole batch or none, and sync continues")
    func kills() async throws {
        try await TestSync.run { sync in
            let (one, two) = (try await sync.device("one"), try await sync.device("two"))
            try await one.execute(Self.rows)
            for device in [one, two] { try await device.sync() }
            try await one.execute(
                """
                UPDATE recipe SET title = 'Broth' WHERE id = 'r1'; DELETE FROM recipe WHERE id = 'r2';
                INSERT INTO recipe (id, title) VALUES ('r4', 'Flan');
                INSERT INTO step (id, recipeID) VALUES ('s4', 'r4')
                """)
            try await one.sync()
            let camera = Camera(of: sync.folder.appending(path: "two.sqlite"), in: sync.folder)
            let position = "SELECT token FROM lfs_sync_checkpoint WHERE type = 'RecipeV1'"
            let before = try await two.rows(position)
            try await two.database.write { db in db.trace { _ in camera.shoot() } }
            try await two.sync()
            try await two.database.write { db in db.trace() }
            let after = try await two.rows(position)
            let recipes = "SELECT id || title FROM recipe ORDER BY id"
            let steps = "SELECT id FROM step ORDER BY id"
            let count = try camera.count
            #expect(camera.statements > 20 && count > 1 && before != after)
            var wholes = 0
            for number in 0..<count {
                let image = try DatabasePool(path: camera.path(number))
                let client = try await TestSync.client(
                    image, transport: ServiceTransport(sync.service), token: two.token)
                let device = TestSync.Device(
                    database: image, client: client, transport: two.transport, token: two.token)
                let hasCome = try await device.rows(position) == after
                wholes += hasCome ? 1 : 0
                #expect(
                    try await device.rows(recipes)
                        == (hasCome ? ["r1Broth", "r3Pie", "r4Flan"] : ["r1Soup", "r2Stew", "r3Pie"]), "\(number)")
                #expect(try await device.rows(steps) == (hasCome ? ["s1", "s4"] : ["s1", "s2"]), "\(number)")
                try await device.sync()
                #expect(try await device.rows(recipes) == ["r1Broth", "r3Pie", "r4Flan"], "\(number)")
                #expect(try await device.rows(steps) == ["s1", "s4"], "\(number)")
                #expect(try await device.sync() == SyncReport(), "\(number)")
                try image.close()
            }
            #expect(wholes > 0 && wholes < count)
        }
    }

    @Test("An echo of a sent change modifies no row, so observers stay silent")
    func echo() async throws {
        try await TestSync.run { sync in
            let one = try await sync.device("one")
            try await one.sync()
            try await one.execute(Self.rows)
            let log = CommitLog()
            one.database.add(transactionObserver: log, extent: .databaseLifetime)
            let before = one.transport.streamed.withLock { $0 }
            #expect(try await one.sync().received == 0)
            // The stream has arrived.
            #expect(one.transport.streamed.withLock { $0 } - before > 5 * 100)
            #expect(log.commits.allSatisfy { $0.isDisjoint(with: ["recipe", "step"]) })
            #expect(!log.commits.isEmpty)
        }
    }

    @Test("A long write of the app delays the batch without losing changes", arguments: [false, true])
    func longWrite(rollsBack: Bool) async throws {
        try await TestSync.run { sync in
            let (one, two) = (try await sync.device("one"), try await sync.device("two"))
            try await two.sync()
            try await one.execute(Self.rows)
            try await one.sync()
            let (isThere, goOn) = (Latch(), Latch())
            two.transport.faults.withLock { $0.holdsPage = (isThere, goOn) }
            let syncing = Task { try await two.sync() }
            await isThere.wait()
            let write = await HeldWrite(
                two.database, sql: "INSERT INTO recipe (id, title) VALUES ('mine', 'Tea')", rollsBack: rollsBack)
            goOn.open()
            // The app is still writing, and no row of the batch is stored.
            try await yield(while: two.transport.streamed.withLock { $0 } == 0)
            #expect(try await two.rows("SELECT count(*) FROM recipe") == ["0"])
            try await write.end()
            #expect(try await syncing.value.received == 5)
            #expect(try await two.rows("SELECT count(*) FROM recipe") == [rollsBack ? "3" : "4"])
            #expect(try await two.sync().sent == (rollsBack ? 0 : 1))
        }
    }

    @Test("A sync cancelled after a batch applies no more, and the next one resumes there")
    func stops() async throws {
        try await TestSync.run(isQuick: true) { sync in
            let one = try await sync.device("one", isQuick: true)
            try await one.execute(
                """
                WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4500)
                INSERT INTO recipe (id, title) SELECT 'r' || i, 'Soup' FROM n
                """)
            try await one.sync()
            let two = try await sync.device("two", isQuick: true)
            let stop = Stop()
            let task = Task { try await two.client.synchronize { _ in stop.stop() } }
            stop.set { task.cancel() }
            await #expect(throws: CancellationError.self) { try await task.value }
            let count = try await two.rows("SELECT count(*) FROM recipe").first.flatMap { Int($0) } ?? 0
            #expect(count > 0 && count <= LineBatcher.lineLimit)
            #expect(try await two.sync().received == 4_500 - count)
        }
    }

    @Test("Incoming changes are not recorded as local changes, including cascades")
    func noOutbox() async throws {
        try await TestSync.run { sync in
            let (one, two) = (try await sync.device("one"), try await sync.device("two"))
            for change in [
                Self.rows, "UPDATE recipe SET title = 'x', servings = 2", "UPDATE step SET recipeID = 'r3'",
                "DELETE FROM recipe WHERE id <> 'r1'", "DELETE FROM recipe",
            ] {
                try await one.execute(change)
                try await one.sync()
                #expect(try await two.sync().received > 0)
                #expect(try await two.rows("SELECT * FROM lfs_sync_outbox") == [], "\(change)")
                #expect(try await two.rows("SELECT isApplying FROM lfs_state") == ["0"])
                let report = try await two.sync()
                #expect(report == SyncReport())
            }
            #expect(try await two.rows("SELECT * FROM step") == [])
        }
    }

    @Test("Writes of another process are sent regardless of when they commit")
    func otherProcess() async throws {
        try await TestSync.run { sync in
            let (one, two) = (try await sync.device("one"), try await sync.device("two"))
            try await two.sync()
            try await one.execute(Self.rows)
            try await one.sync()
            // A separate connection without the library's functions and memory.
            var configuration = Configuration()
            configuration.busyMode = .timeout(600)
            let other = try DatabaseQueue(
                path: sync.folder.appending(path: "two.sqlite").path, configuration: configuration)
            let (isThere, goOn) = (Latch(), Latch())
            two.transport.faults.withLock { $0.holdsPage = (isThere, goOn) }
            let syncing = Task { try await two.sync() }
            await isThere.wait()
            try await other.write { try $0.execute(sql: "INSERT INTO recipe (id, title) VALUES ('other', 'Tea')") }
            goOn.open()
            #expect(try await syncing.value.received == 5)
            try await other.write { db in
                try db.execute(
                    sql: "UPDATE recipe SET servings = 9 WHERE id = 'r1'; DELETE FROM recipe WHERE id = 'r2'")
                #expect(try Int.fetchOne(db, sql: "SELECT count(*) FROM recipe") == 3)
            }
            // The step of the deleted row was deleted too.
            #expect(try await two.sync().sent == 4)
            try await one.sync()
            for device in [one, two] {
                #expect(
                    try await device.rows("SELECT id, title, servings FROM recipe ORDER BY id")
                        == ["other|Tea|NULL", "r1|Soup|9", "r3|Pie|NULL"])
            }
            try other.close()
        }
    }
}

/// An observer that records the tables that each commit has changed.
private final class CommitLog: TransactionObserver, @unchecked Sendable {
    // Unchecked: only the writer's queue calls it, and tests read it when no write runs.
    private(set) var commits: [Set<String>] = []
    private var tables: Set<String> = []

    func observes(eventsOfKind kind: DatabaseEventKind) -> Bool { true }
    func databaseDidChange(with event: DatabaseEvent) { tables.insert(event.tableName) }

    func databaseDidCommit(_ db: Database) {
        commits.append(tables)
        tables = []
    }

    func databaseDidRollback(_ db: Database) { tables = [] }
}

/// A recorder that repeatedly copies a database as it is on disk, the state that a process finds after a kill.
///
/// The mutex owns the count.
private final class Camera: Sendable {
    private let database: URL
    private let folder: URL
    private struct State {
        var count: Result<Int, any Error> = .success(0)
        var last: [Data?] = []
        var statements = 0
    }

    private let state = Mutex(State())

    init(of database: URL, in folder: URL) { (self.database, self.folder) = (database, folder) }

    /// The number of copies. Each differs from the one before.
    var count: Int { get throws { try state.withLock { try $0.count.get() } } }
    /// The number of statements before which the files were read.
    var statements: Int { state.withLock(\.statements) }

    func path(_ number: Int) -> String { folder.appending(path: "image\(number).sqlite").path }

    func shoot() {
        state.withLock { state in
            state.statements += 1
            // Uncommitted changes are in the memory of the process.
            let files = ["", "-wal"].map { try? Data(contentsOf: URL(fileURLWithPath: database.path + $0)) }
            guard files != state.last else { return }
            state.last = files
            state.count = state.count.flatMap { number in
                Result {
                    for (end, file) in zip(["", "-wal"], files) {
                        try file?.write(to: URL(fileURLWithPath: path(number) + end))
                    }
                    return number + 1
                }
            }
        }
    }
}

/// An action that runs when it is both set and due.
private final class Stop: Sendable {
    private let state = Mutex<(action: (@Sendable () -> Void)?, isDue: Bool)>((nil, false))

    func set(_ action: @escaping @Sendable () -> Void) {
        let isDue = state.withLock { state in
            state.action = action
            return state.isDue
        }
        if isDue { action() }
    }

    func stop() {
        let action = state.withLock { state in
            state.isDue = true
            return state.action
        }
        action?()
    }
}
