import ArgumentParser
import Foundation
import Hummingbird
import LFSServer
import LFSServerJWT
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

    /// Creates the parts.
    ///
    /// - Parameters:
    ///   - storage: the storage of the objects, or nil without signed URLs.
    ///   - tokens: the token file, or nil if sessions open everything.
    ///   - secret: the file of the signing secret, or nil for the default next to the token file or the database.
    ///   - store: the sync database and its schema, or nil without sync.
    ///   - syncOptions: the options of sync.
    ///   - provider: the identity provider whose tokens open sessions.
    ///   - reserve: the bytes of the disk that uploads to a folder leave free.
    init(
        storage: String?, tokens: String?, secret: String?, store: (path: String, schema: SyncSchema)?,
        syncOptions: SyncServiceOptions, provider: ProviderOptions, limits: SigningLimits, reserve: Int64,
        publicURL: URL, logger: Logger
    ) async throws {
        database = try store.map { try SyncStoreOptions.open($0.path) }
        if let database, let store {
            sync = try await SyncService(database, schema: store.schema, options: syncOptions, logger: logger)
        } else {
            sync = nil
        }
        sessions = try sync.flatMap { sync in
            try provider.options().map { options in
                SessionRoutes(
                    sync, authenticator: try JWTAuthentication(options, logger: logger), lifetime: provider.lifetime)
            }
        }
        users = try tokens.map { try TokenAuthentication(path: $0, logger: logger) }
        guard let storage, let path = secret ?? (tokens ?? store?.path).map({ $0 + ".secret" }) else {
            signing = nil
            return
        }
        let secret = try SecretFile.open(path)
        let backend = try await StorageArgument(parsing: storage).open(
            publicURL: publicURL, secret: secret, reserve: reserve)
        signing = try SigningService(
            backend: backend, access: sync.map { .sharedFiles($0) } ?? .claimedNamespaces, secret: secret,
            limits: limits, logger: logger)
    }

    /// Adds the routes below `/lfs`, `/v1/sync` and `/v1/sessions`.
    func addRoutes(to router: Router<ServerContext>) {
        if let signing {
            SigningRoutes(signing) { [users, sync] request, _ in
                if let users { return users.name(of: request) }
                guard let token = BearerToken.text(of: request) else { return nil }
                return try await sync?.account(ofToken: token)
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
    private func shutdown() async {
        await signing?.shutdown()
        await database?.close()
    }
}
