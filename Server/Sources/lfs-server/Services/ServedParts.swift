import ArgumentParser
import CoreMetrics
import Foundation
import Hummingbird
import LFSServer
import LFSServerJWT
import LFSServerPostgres
import LFSSigningServer
import LFSSyncServer
import Logging
import ServiceLifecycle

/// The parts that a server provides: signed URLs, sync, or both. As a service, it ends the work that continues after
/// the requests.
struct ServedParts: Service {
    let signing: SigningService?
    let sync: SyncService?
    private let users: TokenAuthentication?
    private let sessions: SessionRoutes<ServerContext>?
    private let database: (any SQLDatabase)?
    /// The database, if it is one of PostgreSQL.
    let postgres: PostgresDatabase?
    /// The disks that the server writes to, and the bytes that stay free on them.
    let disks: [DiskSpace]
    let reserve: Int64
    /// The checks of the parts.
    let readiness: Readiness
    /// The files of the signing secrets, which are read again after a signal.
    let secretFiles: ReloadedFiles?

    /// Creates the parts.
    ///
    /// - Parameters:
    ///   - storage: the storage of the objects, or nil without signed URLs.
    ///   - tokens: the token file, or nil if sessions open everything.
    ///   - secrets: the files of the signing secrets, or none for the default next to the token file or the database.
    ///     The first one signs.
    ///   - store: the sync database, the URL of PostgreSQL itself behind a connection pooler, and the schema. Nil
    ///     without sync.
    ///   - syncOptions: the options of sync.
    ///   - provider: the identity provider whose tokens open sessions.
    ///   - wait: the wait for a database that is not ready.
    ///   - reserve: the bytes of the disk that uploads to a folder leave free.
    ///   - metrics: receives the numbers of the database's failures.
    init(
        storage: String?, tokens: String?, secrets: [String],
        store: (path: String, direct: String?, schema: SyncSchema)?, syncOptions: SyncServiceOptions,
        wait: DatabaseWait, provider: ProviderOptions, limits: SigningLimits, reserve: Int64, publicURL: URL,
        metrics: any MetricsFactory, logger: Logger
    ) async throws {
        var checks: [HealthCheck] = []
        var disks: [DiskSpace] = []
        if let store {
            let opened = try SyncStoreOptions.open(store.path, direct: store.direct)
            let database = CountedDatabase(opened, factory: metrics)
            self.database = database
            postgres = opened as? PostgresDatabase
            sync = try await wait.opening {
                try await SyncService(database, schema: store.schema, options: syncOptions, logger: logger)
            }
            checks.append(.database(database, logger: logger))
            checks.append(.migrations(try SyncStore(database, schema: store.schema), logger: logger))
            if !SyncStoreOptions.isPostgres(store.path) {
                let folder = URL(filePath: store.path).deletingLastPathComponent().path
                disks.append(DiskSpace(name: "database", path: folder))
            }
        } else {
            database = nil
            postgres = nil
            sync = nil
        }
        sessions = try sync.flatMap { sync in
            try provider.options().map { options in
                SessionRoutes(
                    sync, authenticator: try JWTAuthentication(options, logger: logger), lifetime: provider.lifetime,
                    lifetimeAfterToken: provider.lifetimeAfterToken)
            }
        }
        users = try tokens.map { try TokenAuthentication(path: $0, logger: logger) }
        let paths = secrets.isEmpty ? [tokens ?? store?.path].compactMap { $0 }.map { $0 + ".secret" } : secrets
        if let storage, !paths.isEmpty {
            let secret = try SecretFile.open(paths)
            secretFiles = ReloadedFiles("signing secrets", paths: paths, logger: logger) {
                try SecretFile.require($0, at: paths)
                try secret.replace(with: $0[0], accepting: Array($0.dropFirst()))
            }
            let argument = try StorageArgument(parsing: storage)
            let backend = try await argument.open(publicURL: publicURL, secret: secret, reserve: reserve)
            let signing = try SigningService(
                backend: backend, access: sync.map { .sharedFiles($0) } ?? .claimedNamespaces, secret: secret,
                limits: limits, logger: logger)
            self.signing = signing
            checks.append(.storage(signing, logger: logger))
            if case .directory(let path) = argument { disks.append(DiskSpace(name: "storage", path: path)) }
        } else {
            signing = nil
            secretFiles = nil
        }
        self.disks = disks
        self.reserve = reserve
        if !disks.isEmpty { checks.append(.disk(disks, reserve: reserve, logger: logger)) }
        readiness = Readiness(checks: checks)
    }

    /// Adds the routes below `/lfs`, `/v1/sync` and `/v1/sessions`.
    func addRoutes(to router: Router<ServerContext>) {
        if let signing {
            SigningRoutes(signing) { [users, sync] request, context in
                if let users { return users.name(of: request).map { SigningCaller($0) } }
                guard let token = BearerToken.text(of: request), let access = try await sync?.access(ofToken: token)
                else { return nil }
                context.record.record(sessionToken: token)
                return SigningCaller(access.account, rights: SigningRights(access.rights))
            }.add(to: router.group("lfs"))
        }
        if let sync { SyncRoutes(sync).add(to: router.group("v1/sync")) }
        sessions?.add(to: router.group("v1/sessions"))
    }

    func run() async throws {
        // A cancelled task also ends this work.
        try? await gracefulShutdown()
        await shutdown()
    }

    /// Ends the work that continues after the requests.
    func shutdown() async {
        await signing?.shutdown()
        await database?.close()
    }
}
