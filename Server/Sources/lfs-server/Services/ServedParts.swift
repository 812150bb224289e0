import ArgumentParser
import Foundation
import Hummingbird
import LFSServer
import LFSServerJWT
import LFSSigning
import LFSSyncServer
import Logging

/// What a server answers: signed URLs, shared rows, or both.
struct ServedParts: Sendable {
    let signing: SigningService?
    let sync: SyncService?
    private let users: TokenAuthentication?
    private let sessions: SessionRoutes<ServerContext>?
    private let database: (any SQLDatabase)?

    /// - Parameters:
    ///   - storage: where the bytes are; nil without signed URLs.
    ///   - tokens: the file of tokens; nil where sessions open all.
    ///   - secret: the file of what the server signs with; nil for the one beside those of tokens or of rows.
    ///   - store: where the rows are, and what they are; nil without shared rows.
    ///   - syncOptions: for them.
    ///   - provider: whose tokens open sessions.
    init(
        storage: String?, tokens: String?, secret: String?, store: (path: String, schema: SyncSchema)?,
        syncOptions: SyncServiceOptions, provider: ProviderOptions, limits: SigningLimits, publicURL: URL,
        logger: Logger
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
        let backend = try await StorageArgument(parsing: storage).open(publicURL: publicURL, secret: secret)
        signing = try SigningService(
            backend: backend, access: sync.map { .sharedFiles($0) } ?? .claimedNamespaces, secret: secret,
            limits: limits, logger: logger)
    }

    /// Adds what there is below `/lfs` and `/v1/sync`.
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

    /// Ends what goes on after the requests.
    func shutdown() async {
        await signing?.shutdown()
        await database?.close()
    }
}
