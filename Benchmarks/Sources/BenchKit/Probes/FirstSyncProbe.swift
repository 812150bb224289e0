import Foundation
import GRDB
import LFSSync

/// A probe of a device's first sync with a server in another process.
package struct FirstSyncProbe: Sendable {
    package var server: String
    /// The folder in which ``SyncMaker`` has created the server's database.
    package var source: String
    /// The index of the account's session. Each session syncs for the first time only once.
    package var session: Int
    /// The folder of the device's database.
    package var folder: String
    /// The server's database, or nil for that of ``SyncMaker``.
    package var database: String?

    package init(server: String, source: String, session: Int, folder: String, database: String? = nil) {
        self.server = server
        self.source = source
        self.session = session
        self.folder = folder
        self.database = database
    }

    package func run() async throws -> FirstSyncSample {
        let tokens = try SyncMaker.tokens(in: source)
        let server = try SyncServerProcess(server, in: source, database: database)
        defer { server.stop() }
        // An account without rows syncs first, so that the code of both processes is loaded before memory is measured.
        let idle = try SyncHost.open(in: folder, name: "idle.sqlite")
        try await Self.synchronize(idle, server: server, token: tokens[1])
        try idle.close()

        let device = try SyncHost.open(in: folder)
        let client = try await Self.client(device, server: server, token: tokens[session + 2])
        let (ownMemory, serverMemory) = (try ProcessMemory(), try server.memory())
        let (ownCPU, serverCPU) = (try OwnUsage.cpuSeconds(), try server.cpuSeconds())
        let start = ContinuousClock.now
        let report = try await client.synchronize()
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        let sample = FirstSyncSample(
            rows: try SyncHost.count(device), seconds: seconds, cpuSeconds: try OwnUsage.cpuSeconds() - ownCPU,
            serverCPUSeconds: try server.cpuSeconds() - serverCPU,
            extraBytes: try ProcessMemory().peak - ownMemory.now,
            serverExtraBytes: try server.memory().peak - serverMemory.now)
        await client.shutdown()
        guard report.received == sample.rows, report.parked == 0 else {
            throw BenchError("\(report.received) rows were received, and \(sample.rows) are there.")
        }
        return sample
    }

    static func client(_ device: DatabasePool, server: SyncServerProcess, token: String) async throws -> SyncClient {
        guard let url = URL(string: server.url) else { throw BenchError("'\(server.url)' is no URL.") }
        var options = SyncOptions(server: url, token: { token })
        options.allowsPlainHTTP = true
        return try await SyncClient.open(device, options: options)
    }

    static func synchronize(_ device: DatabasePool, server: SyncServerProcess, token: String) async throws {
        let client = try await client(device, server: server, token: token)
        try await client.synchronize()
        await client.shutdown()
    }
}

/// A probe of SQLite alone. It reads rows from the server's database in stream order and writes them into a table with
/// the same indexes, 1,000 per transaction, in one process and thread.
package struct RowCopyProbe: Sendable {
    package enum Variant: String, Codable, CaseIterable, Sendable {
        /// GRDB reads each row and binds it to an `INSERT`.
        case scan
        /// `INSERT … SELECT`, so that no row leaves SQLite.
        case select
    }

    package var way: Variant
    package var source: String
    package var folder: String

    package init(way: Variant, source: String, folder: String) {
        self.way = way
        self.source = source
        self.folder = folder
    }

    private static let batch = 1_000

    package func run() async throws -> FirstSyncSample {
        let target = try SyncHost.openPlain(in: folder)
        let memory = try ProcessMemory()
        let cpu = try OwnUsage.cpuSeconds()
        let start = ContinuousClock.now
        switch way {
        case .scan: try scan(to: target)
        case .select: try select(to: target)
        }
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        return FirstSyncSample(
            rows: try SyncHost.count(target), seconds: seconds, cpuSeconds: try OwnUsage.cpuSeconds() - cpu,
            serverCPUSeconds: 0, extraBytes: try ProcessMemory().peak - memory.now, serverExtraBytes: 0)
    }

    private func scan(to target: DatabasePool) throws {
        let reader = try DatabaseQueue(path: "\(source)/\(SyncMaker.database)")
        let insert = "INSERT INTO note (\(SyncHost.columns)) VALUES (?, ?, ?, ?, ?)"
        let page = """
            SELECT \(SyncHost.columns), updateID FROM note WHERE scopeID = ? AND updateID > ?
            ORDER BY updateID LIMIT \(Self.batch)
            """
        try reader.read { reader in
            let scope = try String.fetchOne(reader, sql: "SELECT scopeID FROM note LIMIT 1")
            var (last, count) = ("", Self.batch)
            while count == Self.batch {
                count = 0
                try target.writeWithoutTransaction { db in
                    try db.inTransaction {
                        let statement = try db.cachedStatement(sql: insert)
                        let rows = try Row.fetchCursor(
                            reader.cachedStatement(sql: page), arguments: [scope, last])
                        while let row = try rows.next() {
                            let values = (0..<5).map { row[$0] as DatabaseValue }
                            try statement.execute(arguments: StatementArguments(values))
                            last = row[5]
                            count += 1
                        }
                        return .commit
                    }
                }
            }
        }
    }

    private func select(to target: DatabasePool) throws {
        let rows = "FROM source.note WHERE scopeID = ? AND updateID > ? ORDER BY updateID"
        let copy = "INSERT INTO note (\(SyncHost.columns)) SELECT \(SyncHost.columns) \(rows) LIMIT \(Self.batch)"
        let end = "SELECT updateID \(rows) LIMIT 1 OFFSET \(Self.batch - 1)"
        try target.writeWithoutTransaction { db in
            try db.execute(sql: "ATTACH ? AS source", arguments: ["\(source)/\(SyncMaker.database)"])
            let scope = try String.fetchOne(db, sql: "SELECT scopeID FROM source.note LIMIT 1")
            var last: String? = ""
            while let after = last {
                try db.inTransaction {
                    try db.cachedStatement(sql: copy).execute(arguments: [scope, after])
                    last = try String.fetchOne(db.cachedStatement(sql: end), arguments: [scope, after])
                    return .commit
                }
            }
        }
    }
}
