import LFSServerPostgres
import Logging
import Synchronization
import Testing

@testable import LFSSyncServer

/// A release of the server, and of the app whose tables it syncs.
struct ServerRelease: Sendable {
    let version: StoreVersion
    let schema: SyncSchema

    private static let title = SyncSchema.Column("title", kind: .text, isRequired: true)
    private static let photo = SyncSchema.Column(
        "photoID", kind: .text, parent: .init("lfs_file", onDelete: .setNull), since: 2)

    static let old = ServerRelease(
        version: .current, schema: SyncSchema(tables: [.init("recipe", columns: [title])]))

    /// A release with another column and index of the table that all devices write to.
    static let new = ServerRelease(
        version: .next(.postgres), schema: SyncSchema(tables: [.init("recipe", columns: [title, photo])]))

    /// A release whose servers cannot run together with those of ``old``.
    static let newest = ServerRelease(version: .afterNext(.postgres), schema: new.schema)
}

/// A server among others of the same database.
final class RollingServer: Sendable {
    let service: SyncService
    let database: PostgresDatabase
    /// The name of its connections.
    let name: String
    private let killed = Mutex(false)

    init(_ release: ServerRelease, url: String, name: String) async throws {
        var options = PostgresOptions.patient
        options.connectionLimit = 5
        database = try TestStore.database(url, options: options)
        self.name = name
        service = try await SyncService(
            database, schema: release.schema, options: SyncServiceOptions(), logger: Logger(label: "test"),
            times: LiveTimes(), version: release.version)
    }

    /// True if the server has ended without its last replies.
    var isKilled: Bool { killed.withLock { $0 } }

    func kill() { killed.withLock { $0 = true } }
}

/// Three servers of one database behind one address.
final class ServerGroup: Sendable {
    private struct State {
        var servers: [RollingServer?] = [nil, nil, nil]
        var startCount = 0
        var requestCount = 0
    }

    private let url: String
    private let schema: String
    /// A connection of another program.
    let database: PostgresDatabase
    private let state = Mutex(State())

    init(url: String, schema: String) throws {
        self.url = url
        self.schema = schema
        database = try TestStore.database(url)
    }

    /// Returns one of the servers that run, each in turn.
    func next() throws -> RollingServer {
        let server: RollingServer? = state.withLock { state in
            state.requestCount += 1
            let running = state.servers.compactMap { $0 }
            return running.isEmpty ? nil : running[state.requestCount % running.count]
        }
        return try #require(server)
    }

    /// Starts a server at a free place.
    func start(_ release: ServerRelease, at place: Int) async throws {
        let number = state.withLock { state in
            state.startCount += 1
            return state.startCount
        }
        let name = "\(schema)_\(number)"
        let own = url.replacing("application_name=\(schema)", with: "application_name=\(name)")
        let server = try await RollingServer(release, url: own, name: name)
        state.withLock { $0.servers[place] = server }
    }

    private func take(_ place: Int) throws -> RollingServer {
        let server: RollingServer? = state.withLock { state in
            defer { state.servers[place] = nil }
            return state.servers[place]
        }
        return try #require(server)
    }

    /// Stops a server, which finishes its transactions. Later requests that it has accepted get an error.
    func stop(_ place: Int) async throws {
        let server = try take(place)
        server.service.shutdown()
        await server.database.close()
    }

    /// Ends a server in the middle of its transactions. Their clients get no reply.
    func kill(_ place: Int) async throws {
        let server = try take(place)
        server.kill()
        _ = try await text(
            """
            SELECT count(pg_terminate_backend(pid)) || '' FROM pg_stat_activity
            WHERE application_name = '\(server.name)'
            """)
        server.service.shutdown()
        await server.database.close()
    }

    func stopAll() async throws {
        for place in 0..<3 { try await stop(place) }
        await database.close()
    }

    /// Returns the first text of a query's first row.
    func text(_ sql: String) async throws -> String? {
        try await database.read { try $0.firstText(sql, arguments: []) }
    }
}
