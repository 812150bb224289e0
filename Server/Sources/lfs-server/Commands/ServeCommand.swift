import ArgumentParser
import CommandLineOptions
import CoreMetrics
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdCore
import HummingbirdTLS
import LFSServer
import LFSSigningServer
import LFSSyncServer
import Logging
import MetricsText
import NIOCore
import NIOSSL
import ServiceLifecycle
import UnixSignals

/// A command that serves signed URLs and sync.
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Serves signed URLs below /lfs and sync below /v1/sync.",
        usage: "lfs-server serve [--storage <storage>] (--database <file> | --tokens <file>) [<options>]",
        discussion: """
            With --storage, devices use the storage signed+http://HOST:PORT/lfs, or
            signed+https://…, with a token of 'token add'. With --database, devices share
            rows, with a token of 'session add'. With both, that token also opens /lfs.

            SIGTERM and SIGINT let running requests finish. SIGHUP reads the certificate
            and the signing secrets again. 'lfs-server help options' shows all options.
            """)

    @Option(help: ArgumentHelp("The address and port of the server.", valueName: "address"))
    var listen = "127.0.0.1:8585"

    @Option(
        help: ArgumentHelp(
            "The storage of the objects: dir:PATH, s3://bucket/prefix, or azure://account/container/prefix.",
            valueName: "storage"))
    var storage: String?

    @Option(
        help: ArgumentHelp(
            "The token file, for use without --database. The signing secret is stored next to it, as FILE.secret.",
            valueName: "file"))
    var tokens: String?

    @Option(
        help: ArgumentHelp(
            "The sync database: an SQLite file, which is created if it is missing, or postgres://USER@HOST/NAME "
                + "with the password in PGPASSWORD or ~/.pgpass.", valueName: "file|url"))
    var database: String?

    @Option(help: SyncStoreOptions.directDatabaseHelp) var directDatabase: String?

    @Option(
        help: ArgumentHelp(
            "The file of the signing secret, if it is not next to --tokens or the database. All servers of one "
                + "database need a copy of the same file. Given again during a rotation: the first secret signs, and "
                + "all are accepted.", valueName: "file", visibility: .hidden))
    var secret: [String] = []

    @Option(
        help: ArgumentHelp(
            "A database of the app. The server syncs the same tables. The default is the uploader's schema.",
            valueName: "file", visibility: .hidden))
    var schemaFrom: String?

    @Option(
        help: ArgumentHelp(
            """
            The file with the last mark of the database's history, by which the server notices a restored backup. Keep \
            it where no restore of the database reaches it. The default is in ~/.local/state/lfs-server.
            """, valueName: "file", visibility: .hidden))
    var state: String?

    @OptionGroup(title: "Sharing", visibility: .hidden) var sharing: SharingOptions
    @OptionGroup(title: "Sync", visibility: .hidden) var syncLimits: SyncLimitOptions
    @OptionGroup(title: "Identity provider", visibility: .hidden) var provider: ProviderOptions
    @OptionGroup(title: "Sync", visibility: .hidden) var newSessions: NewSessionOptions
    @OptionGroup(title: "Quotas", visibility: .hidden) var quotas: QuotaOptions

    @Option(
        help: ArgumentHelp(
            "The number of concurrent connections. Further ones wait. The default is \(ConnectionLimit.usual), or "
                + "less if the process's limit of file descriptors requires it.", valueName: "count",
            visibility: .hidden))
    var connections: Int?

    @Flag(
        help: ArgumentHelp(
            """
            Let devices look up the account with a given name, so that they can share rows with it. Every device \
            can then find out which names exist.
            """, visibility: .hidden))
    var nameAccounts = false

    @Option(
        help: ArgumentHelp(
            "The delay after which the server removes the object of a deleted file, in case the device that deleted "
                + "it is lost. For --database with --storage. The default is 1d.", valueName: "time",
            visibility: .hidden),
        transform: TimeSpan.parseFinite)
    var removeAfter = TimeSpan.days(1)

    @Option(help: ArgumentHelp("The server's certificate chain, a PEM file.", valueName: "file"))
    var certificate: String?

    @Option(help: ArgumentHelp("The certificate's private key, a PEM file.", valueName: "file"))
    var key: String?

    @Option(
        help: ArgumentHelp(
            "The URL of /lfs for devices, if it differs from --listen: https://app.example/lfs.", valueName: "url"))
    var url: String?

    @Flag(
        help: """
            A proxy in front provides TLS and limits connections. The server may then listen without TLS on any \
            address, does not limit connections per address, and logs the client's address from X-Forwarded-For.
            """)
    var behindProxy = false

    @Option(help: ArgumentHelp("The address and port of /metrics, in Prometheus text format.", valueName: "address"))
    var metrics: String?

    @Option(
        help: ArgumentHelp("The maximum size of an object, such as 5GiB.", valueName: "size", visibility: .hidden),
        transform: ByteSize.parse)
    var largestObject: ByteSize?

    @Option(
        help: ArgumentHelp(
            "How long a signed URL is valid. The default is 15m.", valueName: "time", visibility: .hidden),
        transform: TimeSpan.parseFinite)
    var urlLifetime = TimeSpan.minutes(15)

    @Option(
        help: ArgumentHelp(
            "The space on the disk that uploads leave free, with --storage dir:PATH. /health/ready answers 503 below "
                + "it. By default 1GiB.",
            valueName: "size", visibility: .hidden), transform: ByteSize.parse)
    var reserve: ByteSize?

    @Option(
        help: ArgumentHelp(
            "The time that the start waits for a database that does not answer, or that another server migrates. The "
                + "default is 60s.",
            valueName: "time", visibility: .hidden), transform: TimeSpan.parseFinite)
    var waitForDatabase = TimeSpan.seconds(60)

    @OptionGroup(title: "Log", visibility: .hidden) var log: LogOptions
    @OptionGroup(title: "Logins", visibility: .hidden) var logins: LoginOptions
    @OptionGroup(visibility: .hidden) var end: EndOptions

    func validate() throws {
        guard storage != nil || database != nil else {
            throw ValidationError("Give --storage for signed URLs, --database for rows that devices share, or both.")
        }
        if let storage { _ = try StorageArgument(parsing: storage) }
        guard (tokens == nil) == (storage == nil || database != nil) else {
            throw ValidationError(
                tokens == nil
                    ? "--storage needs --tokens, unless --database has the sessions that may use it."
                    : "--tokens cannot be used with --database, whose sessions also grant access to --storage.")
        }
        if let database, SyncStoreOptions.isPostgres(database), storage != nil, secret.isEmpty {
            throw ValidationError(
                "--storage with a PostgreSQL database needs --secret FILE, the signing secret. The file is created "
                    + "if it is missing.")
        }
        try SyncStoreOptions.validate(direct: directDatabase, database: database)
        guard secret.isEmpty || storage != nil else { throw ValidationError("--secret needs --storage.") }
        guard state == nil || database != nil else { throw ValidationError("--state needs --database.") }
        let isPlain = schemaFrom == nil && !sharing.isGiven && !nameAccounts
        guard isPlain || database != nil else {
            throw ValidationError(
                "--schema-from, --container, --partners, --people and --name-accounts need --database.")
        }
        guard !syncLimits.isGiven || database != nil else {
            throw ValidationError("--requests-per-second, --stream-lifetime and --reject-stale need --database.")
        }
        guard !quotas.isGiven || database != nil else {
            throw ValidationError("--account-rows, --account-bytes and --account-file-bytes need --database.")
        }
        guard !provider.isGiven || database != nil else {
            throw ValidationError("--jwt-keys needs --database.")
        }
        guard removeAfter.seconds <= 315_360_000 else {
            throw ValidationError("--remove-after has to be at most 10y.")
        }
        guard removeAfter.seconds == 86_400 || (database != nil && storage != nil) else {
            throw ValidationError("--remove-after needs --database and --storage.")
        }
        guard connections.map({ (1...1_000_000).contains($0) }) ?? true else {
            throw ValidationError("--connections has to be from 1 to 1000000.")
        }
        guard database != nil || waitForDatabase.seconds == 60 else {
            throw ValidationError("--wait-for-database needs --database.")
        }
        guard logins.trustedProxy.isEmpty || behindProxy else {
            throw ValidationError("--trusted-proxy needs --behind-proxy.")
        }
        guard urlLifetime.seconds >= 1 else { throw ValidationError("--url-lifetime has to be at least 1s.") }
        let isOnDisk = storage?.hasPrefix("dir:") == true || database.map { !SyncStoreOptions.isPostgres($0) } ?? false
        guard reserve == nil || isOnDisk else {
            throw ValidationError("--reserve needs --storage dir:PATH, or a file as --database.")
        }
        guard (certificate == nil) == (key == nil) else {
            throw ValidationError("--certificate and --key belong together. Give both.")
        }
        guard try certificate != nil || behindProxy || Self.address(listen, option: "--listen").isLoopback else {
            throw ValidationError(
                "Without TLS, others can read tokens on the network. Give --certificate and --key, or --behind-proxy.")
        }
    }

    func run() async throws {
        let endSignals = EndSignals.all()
        let logger = log.bootstrap()
        logger.notice("lfs-server starts.", metadata: ["version": "\(ServerVersion.text)"])
        let certificate = try loadCertificate()
        certificate?.reportExpiry(to: logger)
        let address = try Self.address(listen, option: "--listen")
        let connections = try ConnectionLimit.allow(connections)
        let text = TextMetrics()
        MetricsSystem.bootstrap(text)
        var limits = SigningLimits()
        limits.largestObject = largestObject?.bytes
        limits.expiry = .seconds(urlLifetime.seconds)
        let publicURL = try publicURL(address)
        let store = try database.map { path in
            let schema = try sharing.adding(to: SyncStoreOptions.schema(schemaFrom))
            return (path: path, direct: directDatabase, schema: schema)
        }
        var syncOptions = syncLimits.options()
        newSessions.apply(to: &syncOptions)
        syncOptions.quota = quotas.quota
        syncOptions.namesAccounts = nameAccounts
        syncOptions.removalDelay = storage.map { _ in .seconds(removeAfter.seconds) }
        let parts = try await ServedParts(
            storage: storage, tokens: tokens, secrets: secret, store: store, syncOptions: syncOptions,
            wait: DatabaseWait(limit: .seconds(waitForDatabase.seconds), logger: logger), provider: provider,
            limits: limits, reserve: reserve?.bytes ?? 1 << 30, publicURL: publicURL, metrics: text,
            logger: logger)
        var connectionLimits = ConnectionLimits()
        if behindProxy { connectionLimits.connectionsPerAddress = nil }
        let open = Connections(connectionLimits, logger: logger)
        let notifier = ServiceManagerNotifier(logger: logger)
        let server = try application(
            parts, address: address, publicURL: publicURL, connections: connections, open: open,
            certificate: certificate, metrics: text, notifier: notifier, logger: logger)
        var services: [any Service] = [
            ClosingServer(base: server, connections: open, patience: end.patience, address: address)
        ]
        if let signing = parts.signing {
            services.insert(PeriodicTask.sweep(signing, sync: parts.sync, logger: logger), at: 0)
        }
        if let sync = parts.sync, let database {
            let file = state.map { StateFile(path: $0) } ?? StateFile.standard(forDatabase: database)
            services.insert(
                try await HistoryGuard(sync, file: file, isRequired: state != nil, logger: logger), at: 0)
        }
        if let sync = parts.sync { services.insert(PeriodicTask.prune(sync, logger: logger), at: 0) }
        if let sync = parts.sync, let signing = parts.signing {
            services.insert(PeriodicTask.removal(sync, signing: signing, logger: logger), at: 0)
        }
        let watched = certificate.map { [certificateFiles($0, logger: logger)] } ?? []
        let files = parts.secretFiles.map { [$0] } ?? []
        let signals = await UnixSignalsSequence(trapping: endSignals.contains(.sighup) ? [] : [.sighup])
        services.insert(Reload(files: files, watched: watched, signals: signals, notifier: notifier), at: 0)
        // The first service is shut down last. It ends the work that continues after the requests.
        services.insert(parts, at: 0)
        // The last services are shut down first.
        if let sync = parts.sync { services.append(OpenStreamsEnd(sync: sync)) }
        if let metrics {
            let current = ServerMetrics(text, parts: parts, connections: open, certificate: certificate)
            let own = Connections(logger: logger)
            let address = try Self.address(metrics, option: "--metrics")
            let server = Self.metrics(current, of: parts, at: address, connections: own, logger: logger)
            services.append(
                ClosingServer(
                    base: server, connections: own, patience: .seconds(1), address: address, option: "--metrics"))
        }
        services.append(notifier)
        var configuration = ServiceGroupConfiguration(
            services: services, gracefulShutdownSignals: endSignals, logger: logger)
        end.apply(to: &configuration)
        let group = ServiceGroup(configuration: configuration)
        try await group.run()
    }

    private static func address(_ text: String, option: String) throws -> ListenAddress {
        guard let address = ListenAddress(text) else {
            throw ValidationError("\(option) is not an address with a port. Write 127.0.0.1:8585 or [::1]:8585.")
        }
        return address
    }

    private var scheme: String { certificate == nil ? "http" : "https" }

    private func publicURL(_ address: ListenAddress) throws -> URL {
        if let url {
            guard let found = URL(string: url), ["http", "https"].contains(found.scheme), found.host?.isEmpty == false,
                found.query == nil, found.fragment == nil, found.user == nil
            else {
                throw ValidationError("--url is not a URL of the server. Write it as https://app.example/lfs.")
            }
            return found
        }
        guard address.port != 0, !["0.0.0.0", "::"].contains(address.host),
            let found = URL(string: "\(scheme)://\(address)/lfs")
        else { throw ValidationError("Devices cannot connect to the address of --listen. Give --url.") }
        return found
    }

    private func application(
        _ parts: ServedParts, address: ListenAddress, publicURL: URL, connections: ConnectionLimit,
        open: Connections, certificate: ServerCertificate?, metrics: TextMetrics,
        notifier: ServiceManagerNotifier, logger: Logger
    ) throws -> some ApplicationProtocol {
        let router = Router(context: ServerContext.self)
        let trust = logins.trust(isBehindProxy: behindProxy)
        router.addMiddleware {
            RequestLog(logger: logger, trust: trust)
            RequestMetrics(metrics)
            ReplyMiddleware(trust: trust)
            if logins.failedLogins > 0 {
                LoginLimit(FailedLogins(perMinute: logins.failedLogins), trust: trust)
            }
            ContinueMiddleware()
        }
        parts.readiness.addRoutes(to: router)
        parts.addRoutes(to: router)
        return Application(
            router: router, server: try channel(open, certificate: certificate),
            configuration: ApplicationConfiguration(
                address: .hostname(address.host, port: address.port),
                availableConnectionsDelegate: MaximumAvailableConnections(connections.count)),
            onServerRunning: { [scheme] channel in
                // The system has chosen the port 0.
                let bound = ListenAddress(host: address.host, port: channel.localAddress?.port ?? address.port)
                Console.print(parts.signing == nil ? "\(scheme)://\(bound)" : publicURL.absoluteString)
                notifier.reportReady()
            }, logger: logger)
    }

    /// - Parameters:
    ///   - patience: the time limit of a request head, and the time that a connection may wait for the next request. It
    ///     is counted from the end of the previous reply, not from the last byte. A client that sends one byte per
    ///     second cannot hold a connection.
    ///   - connections: the connections of the server.
    static func http(
        _ patience: TimeAmount = .seconds(60), connections: Connections
    ) -> HTTP1Channel.Configuration {
        .init(
            additionalChannelHandlers: [UnsentLimit(), connections.handler()], idleTimeout: patience,
            httpDecoderConfiguration: .init(
                maxHeaderFieldSize: 16 << 10, maxHeaderListSize: 32 << 10, maxHeaderFieldCount: 100))
    }

    func channel(_ connections: Connections, certificate: ServerCertificate?) throws -> HTTPServerBuilder {
        let http = HTTPServerBuilder.http1(configuration: Self.http(connections: connections))
        guard let certificate else { return http }
        return try .tls(http, tlsConfiguration: certificate.configuration)
    }

    /// Returns the certificate of the server, or nil without TLS.
    ///
    /// - Throws: `ValidationError` if the files cannot be used.
    func loadCertificate() throws -> ServerCertificate? {
        guard let certificate, let key else { return nil }
        do {
            return try ServerCertificate(
                try Data(contentsOf: URL(filePath: certificate)), key: try Data(contentsOf: URL(filePath: key)))
        } catch {
            throw ValidationError(
                "The files of --certificate and --key cannot be used: \(error). Both have to be PEM and match.")
        }
    }

    /// Returns the files of the certificate.
    func certificateFiles(_ used: ServerCertificate, logger: Logger) -> ReloadedFiles {
        ReloadedFiles("certificate", paths: [certificate, key].compactMap { $0 }, logger: logger) {
            try used.replace(with: $0[0], key: $0[1])
            used.reportExpiry(to: logger)
        }
    }

    private static func metrics(
        _ metrics: ServerMetrics, of parts: ServedParts, at address: ListenAddress, connections: Connections,
        logger: Logger
    ) -> some ApplicationProtocol {
        let router = Router()
        router.get("metrics") { _, _ in
            Response(
                status: .ok, headers: [.contentType: TextMetrics.contentType],
                body: ResponseBody(byteBuffer: ByteBuffer(string: await metrics.current())))
        }
        parts.readiness.addRoutes(to: router)
        return Application(
            router: router, server: .http1(configuration: Self.http(connections: connections)),
            configuration: ApplicationConfiguration(address: .hostname(address.host, port: address.port)),
            logger: logger)
    }
}
