import ArgumentParser
import CoreMetrics
import Foundation
import Hummingbird
import HummingbirdCore
import HummingbirdTLS
import LFSServer
import LFSSigning
import LFSSyncServer
import Logging
import MetricsText
import NIOCore
import NIOSSL
import ServiceLifecycle
import UnixSignals

/// Serves signed URLs, and rows that devices share.
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Answers devices below /lfs and /v1/sync.",
        discussion: """
            With --storage, devices use signed+http://HOST:PORT/lfs, or signed+https://…, with a token of 'lfs-server \
            token add'; with dir:PATH it stores the bytes itself. With --database, devices share rows, with a token of \
            'lfs-server session add'. With both that token opens /lfs as well. SIGTERM and SIGINT end it when what is \
            under way is done, at the latest after ten seconds.
            """)

    @Option(help: "Address and port.")
    var listen = "127.0.0.1:8585"

    @Option(
        help: ArgumentHelp(
            "Where the bytes are: dir:PATH, s3://bucket/prefix, or azure://account/container/prefix.",
            valueName: "storage"))
    var storage: String?

    @Option(
        help: ArgumentHelp(
            "The file of tokens, without --database. What the server signs with stands beside it, as FILE.secret.",
            valueName: "file"))
    var tokens: String?

    @Option(
        help: ArgumentHelp(
            "The database of the rows that devices share: a file of SQLite, made if it is missing, or "
                + "postgres://USER@HOST/NAME with the password in PGPASSWORD or ~/.pgpass.", valueName: "file|url"))
    var database: String?

    @Option(
        help: ArgumentHelp(
            "The file of what the server signs with, if it does not stand beside --tokens or the database. Servers "
                + "that share a database share a copy of it.", valueName: "file"))
    var secret: String?

    @Option(
        help: ArgumentHelp(
            "A database of the app, whose synced tables the server has as well. The uploader's by default.",
            valueName: "file"))
    var schemaFrom: String?

    @OptionGroup var sharing: SharingOptions
    @OptionGroup var syncLimits: SyncLimitOptions
    @OptionGroup var provider: ProviderOptions
    @OptionGroup var sessionLimit: SessionLimitOption

    @Option(
        help: ArgumentHelp(
            "Connections at once; more of them wait. \(ConnectionLimit.usual) by default, or as many as the process's "
                + "limit of descriptors lets be.", valueName: "count"))
    var connections: Int?

    @Flag(
        help: """
            Tell devices which account has a name, so that they share something with it. Each of them can find out \
            then which names there are.
            """)
    var nameAccounts = false

    @Option(
        help: ArgumentHelp(
            "After how long the server removes the object of a deleted file, whose device may be lost. With --database "
                + "and --storage.", valueName: "seconds"))
    var removeAfter = 86_400

    @Option(help: ArgumentHelp("The server's certificate, and what leads to its authority, as PEM.", valueName: "file"))
    var certificate: String?

    @Option(help: ArgumentHelp("The certificate's key, as PEM.", valueName: "file"))
    var key: String?

    @Option(
        help: ArgumentHelp(
            "Where devices reach /lfs, if it is not the address: https://app.example/lfs.", valueName: "url"))
    var url: String?

    @Flag(help: "Listen for more than this machine without TLS, because a proxy in front has it.")
    var behindProxy = false

    @Option(help: ArgumentHelp("Address and port of /metrics, in the text format of Prometheus.", valueName: "address"))
    var metrics: String?

    @Option(help: ArgumentHelp("Bytes of the largest object.", valueName: "bytes"))
    var largestObject: Int64?

    @Option(help: ArgumentHelp("How long a signed URL is valid.", valueName: "seconds"))
    var expires: Int64 = 900

    func validate() throws {
        guard storage != nil || database != nil else {
            throw ValidationError("Give --storage for signed URLs, --database for rows that devices share, or both.")
        }
        guard (tokens == nil) == (storage == nil || database != nil) else {
            throw ValidationError(
                tokens == nil
                    ? "--storage needs --tokens, unless --database has the sessions that may use it."
                    : "--tokens is for --storage without --database, whose sessions open both.")
        }
        if let database, SyncStoreOptions.isPostgres(database), storage != nil, secret == nil {
            throw ValidationError(
                "--storage with a database of PostgreSQL needs --secret FILE: what the server signs with. It is made "
                    + "if it is missing.")
        }
        guard secret == nil || storage != nil else { throw ValidationError("--secret belongs to --storage.") }
        let isPlain = schemaFrom == nil && sharing.container.isEmpty && sharing.partners == nil && !nameAccounts
        guard isPlain || database != nil else {
            throw ValidationError("--schema-from, --container, --partners and --name-accounts belong to --database.")
        }
        guard !syncLimits.areGiven || database != nil else {
            throw ValidationError("--requests-per-second, --live-seconds and --reject-stale belong to --database.")
        }
        guard !provider.areGiven || database != nil else {
            throw ValidationError("--jwt-keys belongs to --database.")
        }
        guard (0...315_360_000).contains(removeAfter) else {
            throw ValidationError("--remove-after has to be from 0 to 315360000.")
        }
        guard removeAfter == 86_400 || (database != nil && storage != nil) else {
            throw ValidationError("--remove-after belongs to --database with --storage.")
        }
        guard connections.map({ (1...1_000_000).contains($0) }) ?? true else {
            throw ValidationError("--connections has to be from 1 to 1000000.")
        }
        guard (certificate == nil) == (key == nil) else {
            throw ValidationError("--certificate and --key belong together: write both.")
        }
        guard try certificate != nil || behindProxy || Self.address(listen, "--listen").isLoopback else {
            throw ValidationError(
                "Without TLS tokens can be read on the way: give --certificate and --key, or --behind-proxy.")
        }
    }

    func run() async throws {
        let logger = Logger(label: "lfs-server") { StreamLogHandler.standardError(label: $0) }
        let address = try Self.address(listen, "--listen")
        let connections = try ConnectionLimit.allow(connections)
        let text = TextMetrics()
        MetricsSystem.bootstrap(text)
        var limits = SigningLimits()
        limits.largestObject = largestObject
        limits.expiry = .seconds(expires)
        let publicURL = try publicURL(address)
        let store = try database.map { (path: $0, schema: try sharing.adding(to: SyncStoreOptions.schema(schemaFrom))) }
        var syncOptions = syncLimits.options()
        syncOptions.sessionLimit = sessionLimit.sessionLimit
        syncOptions.namesAccounts = nameAccounts
        syncOptions.removalDelay = storage.map { _ in .seconds(removeAfter) }
        let parts = try await ServedParts(
            storage: storage, tokens: tokens, secret: secret, store: store, syncOptions: syncOptions,
            provider: provider, limits: limits, publicURL: publicURL, logger: logger)
        var services: [any Service] = [try application(parts, address, publicURL, connections, logger)]
        if let signing = parts.signing { services.insert(Sweep(service: signing, logger: logger), at: 0) }
        if let sync = parts.sync, let signing = parts.signing {
            services.insert(ObjectRemoval(sync: sync, signing: signing, logger: logger), at: 0)
        }
        // Those that come last are asked to end first.
        if let sync = parts.sync { services.append(OpenStreamsEnd(sync: sync)) }
        if let metrics { services.append(Self.metrics(text, at: try Self.address(metrics, "--metrics"), logger)) }
        var configuration = ServiceGroupConfiguration(
            services: services, gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
        // Ten seconds in all: whoever asks for the end kills soon after.
        configuration.maximumGracefulShutdownDuration = .seconds(7)
        configuration.maximumCancellationDuration = .seconds(3)
        let group = ServiceGroup(configuration: configuration)
        try await group.run()
        // What nobody waits for any more goes on after the requests.
        await parts.shutdown()
    }

    private static func address(_ text: String, _ option: String) throws -> ListenAddress {
        guard let address = ListenAddress(text) else {
            throw ValidationError("\(option) is no address: write 127.0.0.1:8585 or [::1]:8585.")
        }
        return address
    }

    private var scheme: String { certificate == nil ? "http" : "https" }

    private func publicURL(_ address: ListenAddress) throws -> URL {
        if let url {
            guard let found = URL(string: url), ["http", "https"].contains(found.scheme), found.host?.isEmpty == false,
                found.query == nil, found.fragment == nil, found.user == nil
            else {
                throw ValidationError("--url is not where devices reach the server: write https://app.example/lfs.")
            }
            return found
        }
        guard address.port != 0, !["0.0.0.0", "::"].contains(address.host),
            let found = URL(string: "\(scheme)://\(address)/lfs")
        else { throw ValidationError("Nobody knows how devices reach that address: give --url.") }
        return found
    }

    private func application(
        _ parts: ServedParts, _ address: ListenAddress, _ publicURL: URL, _ connections: ConnectionLimit,
        _ logger: Logger
    ) throws -> some ApplicationProtocol {
        let router = Router(context: ServerContext.self)
        router.addMiddleware {
            MetricsMiddleware()
            ReplyMiddleware()
            ContinueMiddleware()
        }
        router.get("health") { _, _ in "ok\n" }
        parts.addRoutes(to: router)
        return Application(
            router: router, server: try channel(),
            configuration: ApplicationConfiguration(
                address: .hostname(address.host, port: address.port),
                availableConnectionsDelegate: MaximumAvailableConnections(connections.count)),
            onServerRunning: { [scheme] _ in
                Console.print(parts.signing == nil ? "\(scheme)://\(address)" : publicURL.absoluteString)
            }, logger: logger)
    }

    /// - Parameter patience: how long the head of a request may take, and a connection wait for the next. It is counted
    ///   from the end of the reply before, and not from the last byte: one byte a second holds no connection.
    static func http(_ patience: TimeAmount = .seconds(60)) -> HTTP1Channel.Configuration {
        .init(
            additionalChannelHandlers: [UnsentLimit()], idleTimeout: patience,
            httpDecoderConfiguration: .init(
                maxHeaderFieldSize: 16 << 10, maxHeaderListSize: 32 << 10, maxHeaderFieldCount: 100))
    }

    func channel() throws -> HTTPServerBuilder {
        let http = HTTPServerBuilder.http1(configuration: Self.http())
        guard let certificate, let key else { return http }
        do {
            var configuration = TLSConfiguration.makeServerConfiguration(
                certificateChain: try NIOSSLCertificate.fromPEMFile(certificate).map { .certificate($0) },
                privateKey: .privateKey(try NIOSSLPrivateKey(file: key, format: .pem)))
            configuration.minimumTLSVersion = .tlsv12
            // Now, and not with the first connection: a key of another pair is found here.
            _ = try NIOSSLContext(configuration: configuration)
            return try .tls(http, tlsConfiguration: configuration)
        } catch {
            throw ValidationError(
                "The files for TLS cannot be used: \(error). Both have to be PEM, and belong together.")
        }
    }

    private static func metrics(
        _ text: TextMetrics, at address: ListenAddress, _ logger: Logger
    ) -> some ApplicationProtocol {
        let router = Router()
        router.get("metrics") { _, _ in text.text() }
        return Application(
            router: router, server: .http1(configuration: Self.http()),
            configuration: ApplicationConfiguration(address: .hostname(address.host, port: address.port)),
            logger: logger)
    }
}
