import Foundation
import Hummingbird
import HummingbirdCore
import HummingbirdTLS
public import JournalStorage
public import LFSCache
public import LFSSettings
import Logging
import NIOCore
import NIOSSL
public import ServiceLifecycle

/// The page of a journal, as a service.
///
/// ```swift
/// let settings = try await JournalSettings.open(journal.database, secrets: SecretsFolder())
/// let server = try await JournalServer(journal, settings: settings, options: WebOptions())
/// let group = ServiceGroup(services: [journal.lfs, server], gracefulShutdownSignals: [.sigterm], logger: logger)
/// try await group.run()
/// try await journal.close()
/// ```
///
/// It stops before the manager, so that what the last requests attach is still taken.
public struct JournalServer: Service {
    private let application: Application<JournalResponder>

    /// A server that does not listen yet.
    ///
    /// - Parameters:
    ///   - journal: the journal, whose manager the caller runs.
    ///   - settings: those of ``JournalSettings/open(_:secrets:logger:)``.
    ///   - options: where and for whom.
    ///   - cache: where small pictures are kept, which the caller closes when the server has ended; nil for none, and
    ///     pictures are shown as they are.
    ///   - sync: what shares it with other devices, which the caller runs too; nil where nothing does.
    ///   - backup: what backs up folders of pictures, which the caller runs too; nil where none may be named.
    ///   - onListening: called once with the address, when requests are taken.
    /// - Throws: ``WebError/Code/unsafeOptions``, ``WebError/Code/unusableFile``; `SettingsError` when the secrets are
    ///   not there, and none is made in their place.
    public init(
        _ journal: DatabaseStorageService, settings: StorageRouter, options: WebOptions, cache: MediaCache? = nil,
        sync: DeviceSync? = nil, backup: FolderBackup? = nil,
        onListening: @escaping @Sendable (ListenAddress) async -> Void = { _ in }
    ) async throws {
        try options.requireSafe()
        let password = options.password.map(Password.init)
        let sessions = try await Sessions.open(settings, password: password, isTLS: options.tls != nil)
        let activity = UploadActivity(lfs: journal.lfs)
        let thumbnails = cache.flatMap { cache in
            ThumbnailTool().map { Thumbnails(lfs: journal.lfs, cache: cache, tool: $0) }
        }
        let parts = WebParts(
            journal: journal, settings: settings, options: options, templates: try Templates(),
            sessions: sessions, password: password, feed: LiveFeed(journal: journal, sync: sync, backup: backup),
            activity: activity, sync: sync, backup: backup, thumbnails: thumbnails)
        let responder = JournalResponder(
            parts: parts, guarding: RequestGuard(options), router: Self.router(parts).buildResponder())
        let host = options.address.host
        application = Application(
            responder: responder, server: try Self.channel(options),
            configuration: ApplicationConfiguration(
                address: .hostname(host, port: options.address.port),
                availableConnectionsDelegate: MaximumAvailableConnections(500)),
            services: [activity] + [thumbnails].compactMap { $0 as (any Service)? },
            onServerRunning: { channel in
                await onListening(ListenAddress(host: host, port: channel.localAddress?.port ?? options.address.port))
            },
            logger: options.logger)
    }

    /// Serves until the group that it runs in stops.
    ///
    /// - Throws: the system's error when it cannot listen.
    public func run() async throws { try await application.run() }

    private static func router(_ parts: WebParts) -> Router<JournalContext> {
        let router = Router(context: JournalContext.self)
        ServiceRoutes(parts: parts).add(to: router)
        TimelineRoutes(parts: parts).add(to: router)
        RecordRoutes(parts: parts).add(to: router)
        PictureRoutes(parts: parts).add(to: router)
        AlbumRoutes(parts: parts).add(to: router)
        SharingRoutes(parts: parts).add(to: router)
        StorageRoutes(parts: parts).add(to: router)
        SettingsRoutes(parts: parts).add(to: router)
        BackupRoutes(parts: parts).add(to: router)
        return router
    }

    private static func channel(_ options: WebOptions) throws -> HTTPServerBuilder {
        let isTLS = options.tls != nil
        let http = HTTPServerBuilder.http1(
            configuration: .init(
                additionalChannelHandlers: [SmallReads(), ReplyHeaders(isTLS: isTLS)], idleTimeout: .seconds(60),
                httpDecoderConfiguration: .init(
                    maxHeaderFieldSize: 16 << 10, maxHeaderListSize: 32 << 10, maxHeaderFieldCount: 100)))
        guard let files = options.tls else { return http }
        do {
            var configuration = TLSConfiguration.makeServerConfiguration(
                certificateChain: try NIOSSLCertificate.fromPEMFile(files.certificate).map { .certificate($0) },
                privateKey: .privateKey(try NIOSSLPrivateKey(file: files.key, format: .pem)))
            configuration.minimumTLSVersion = .tlsv12
            // Now, and not with the first connection: a key of another pair is found here.
            _ = try NIOSSLContext(configuration: configuration)
            return try .tls(http, tlsConfiguration: configuration)
        } catch {
            throw WebError(
                .unusableFile, "The files for TLS cannot be used: \(error). Both have to be PEM, and belong together.")
        }
    }
}
