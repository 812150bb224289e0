import Foundation
import Hummingbird
import HummingbirdCore
import HummingbirdTLS
public import JournalStorage
import LFS
public import LFSCache
import LFSServer
public import LFSSettings
import NIOCore
import NIOSSL
public import ServiceLifecycle

/// The web server of a journal, as a service.
///
/// ```swift
/// let settings = try await JournalSettings.open(journal.database, secrets: SecretsFolder())
/// let server = try await JournalServer(journal, settings: settings, options: WebOptions())
/// let group = ServiceGroup(services: [journal.lfs, server], gracefulShutdownSignals: [.sigterm], logger: logger)
/// try await group.run()
/// try await journal.close()
/// ```
///
/// The server stops before the manager, so that the manager still accepts the pictures of the last requests.
public struct JournalServer: Service {
    private let application: Application<JournalResponder>
    private let connections: Connections
    private let address: String

    /// Creates a server that does not listen yet.
    ///
    /// - Parameters:
    ///   - journal: The journal, whose manager the caller runs.
    ///   - settings: The settings of ``JournalSettings/open(_:secrets:logger:)``.
    ///   - options: The options of the server.
    ///   - cache: The cache of the thumbnails, which the caller closes after the server has ended. If it is nil, pages
    ///     show the original pictures.
    ///   - sync: The synchronization with other devices, which the caller runs too. Nil for none.
    ///   - backup: The backup of folders, which the caller runs too. Nil for none.
    ///   - onListening: A closure that is called once with the address, as soon as the server accepts requests.
    /// - Throws: ``WebError/Code/unsafeOptions``, ``WebError/Code/unusableFile``. `SettingsError` if the secrets are
    ///   not available. No secrets are created then.
    public init(
        _ journal: DatabaseStorageService, settings: StorageRouter, options: WebOptions, cache: MediaCache? = nil,
        sync: DeviceSync? = nil, backup: FolderBackup? = nil,
        onListening: @escaping @Sendable (ListenAddress) async -> Void = { _ in }
    ) async throws {
        try options.requireSafe()
        let password = options.password.map(Password.init)
        let sessions = try await Sessions.open(settings, password: password, isTLS: options.tls != nil)
        let history = FileHistory(journal.lfs.events(), times: LocalTime(options.timeZone))
        let rounds = options.faults.map { RoundCheck(journal.lfs, faults: $0, logger: options.logger) }
        if options.restarts > 0 { rounds?.request(after: "the process was killed") }
        let thumbnails = cache.flatMap { cache in
            ThumbnailTool().map { Thumbnails(journal, cache: cache, tool: $0, logger: options.logger) }
        }
        let feed = LiveFeed(journal: journal, history: history, sync: sync, backup: backup, rounds: rounds)
        let parts = WebParts(
            journal: journal, settings: settings, options: options, templates: try Templates(),
            sessions: sessions, password: password,
            feed: feed, counter: StoreCounter(journal, logger: options.logger), rounds: rounds, history: history,
            sync: sync, backup: backup, cache: cache, thumbnails: thumbnails)
        let sizes = cache.map { CacheSizes(settings: settings, cache: $0, logger: options.logger) }
        let responder = JournalResponder(
            parts: parts, guarding: RequestGuard(options), router: Self.router(parts).buildResponder())
        let recorder = sync.map { AccountRecorder(sync: $0, settings: settings, logger: options.logger) }
        let trash = Trash(journal: journal, logger: options.logger)
        let services: [(any Service)?] = [history, feed, trash, rounds, thumbnails, sizes, recorder]
        let host = options.address.host
        connections = Connections(options.connectionLimits, logger: options.logger)
        address = "\(options.address)"
        application = Application(
            responder: responder, server: try Self.channel(options, connections: connections),
            configuration: ApplicationConfiguration(
                address: .hostname(host, port: options.address.port),
                availableConnectionsDelegate: MaximumAvailableConnections(500)),
            services: services.compactMap(\.self),
            onServerRunning: { channel in
                await onListening(ListenAddress(host: host, port: channel.localAddress?.port ?? options.address.port))
            },
            logger: options.logger)
    }

    /// Serves requests until the service group stops. Five seconds later the server closes the remaining connections.
    ///
    /// - Throws: `ListenError` if the server cannot listen.
    public func run() async throws {
        do {
            try await connections.run(application, closingAfter: .seconds(5))
        } catch {
            throw ListenError(error, address: address, option: "--listen") ?? error
        }
    }

    private static func router(_ parts: WebParts) -> Router<JournalContext> {
        let router = Router(context: JournalContext.self)
        ServiceRoutes(parts: parts).add(to: router)
        TimelineRoutes(parts: parts).add(to: router)
        RecordRoutes(parts: parts).add(to: router)
        PictureRoutes(parts: parts).add(to: router)
        GridRoutes(parts: parts).add(to: router)
        TrashRoutes(parts: parts).add(to: router)
        AlbumRoutes(parts: parts).add(to: router)
        SharingRoutes(parts: parts).add(to: router)
        StorageRoutes(parts: parts).add(to: router)
        InspectorRoutes(parts: parts).add(to: router)
        HowRoutes(parts: parts).add(to: router)
        SettingsRoutes(parts: parts).add(to: router)
        BackupRoutes(parts: parts).add(to: router)
        return router
    }

    private static func channel(_ options: WebOptions, connections: Connections) throws -> HTTPServerBuilder {
        let isTLS = options.tls != nil
        let http = HTTPServerBuilder.http1(
            configuration: .init(
                additionalChannelHandlers: [SmallReads(), ReplyHeaders(isTLS: isTLS), connections.handler()],
                idleTimeout: .seconds(60),
                httpDecoderConfiguration: .init(
                    maxHeaderFieldSize: 16 << 10, maxHeaderListSize: 32 << 10, maxHeaderFieldCount: 100)))
        guard let files = options.tls else { return http }
        do {
            var configuration = TLSConfiguration.makeServerConfiguration(
                certificateChain: try NIOSSLCertificate.fromPEMFile(files.certificate).map { .certificate($0) },
                privateKey: .privateKey(try NIOSSLPrivateKey(file: files.key, format: .pem)))
            configuration.minimumTLSVersion = .tlsv12
            // Create the context before the first connection, so that a key of another certificate is detected here.
            _ = try NIOSSLContext(configuration: configuration)
            return try .tls(http, tlsConfiguration: configuration)
        } catch {
            throw WebError(
                .unusableFile,
                message: "The files for TLS cannot be used: \(error). Both have to be PEM and match.")
        }
    }
}

/// A channel handler that limits each read of a connection to 16 KiB.
///
/// A request whose bytes arrive faster than they are processed waits in several such buffers, and a hundred pictures
/// sent at the same time are a hundred requests: with buffers of 64 KiB, which is the default, they take 60 MiB.
final class SmallReads: ChannelInboundHandler, RemovableChannelHandler {
    /// Incoming data is passed on unchanged.
    typealias InboundIn = Any

    private static let byteCount = 16 << 10

    func handlerAdded(context: ChannelHandlerContext) {
        let buffers = AdaptiveRecvByteBufferAllocator(minimum: 1_024, initial: 2_048, maximum: Self.byteCount)
        // A channel without this option keeps its own way of reading.
        context.channel.setOption(.recvAllocator, value: buffers).whenFailure { _ in }
    }
}
