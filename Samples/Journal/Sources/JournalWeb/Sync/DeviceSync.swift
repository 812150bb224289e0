import Foundation
public import JournalStorage
public import LFSSync
public import Logging
public import ServiceLifecycle

/// Shares a journal with the account's other devices, as a service, and knows how that stands.
///
/// ```swift
/// let sync = try await DeviceSync(journal, options: SyncOptions(server: server) { token }, logger: logger)
/// let group = ServiceGroup(services: [journal.lfs, sync, server], gracefulShutdownSignals: [.sigterm], logger: logger)
/// ```
///
/// It never ends by itself: a server that is away, or that takes the token no more, is asked again.
public final class DeviceSync: Service {
    /// What keeps rows from going and coming.
    enum Trouble: Hashable, Sendable {
        /// The server is away or asks for patience.
        case away(String)
        /// It does not take the token.
        case signedOut(String)
        /// Something that waiting alone does not mend.
        case stopped(String)
    }

    struct State: Hashable, Sendable {
        /// When everything had gone and come last, since this process was started.
        var wholeAt: Date?
        var trouble: Trouble?
    }

    /// Where the server is, as pages show it.
    let serverName: String
    private let client: SyncClient
    private let logger: Logger
    private let retryDelay: Duration
    private let watched = Watched(State())

    /// Opens sync. Nothing goes over the network yet.
    ///
    /// - Parameters:
    ///   - journal: what is shared.
    ///   - options: the server, and the token of this device.
    ///   - retryDelay: after what waiting alone does not mend, such as a token that is not taken.
    ///   - logger: gets what goes wrong, never a token.
    /// - Throws: `SyncError`.
    public init(
        _ journal: DatabaseStorageService, options: SyncOptions, retryDelay: Duration = .seconds(15), logger: Logger
    ) async throws {
        client = try await SyncClient.open(journal.database, options: options)
        let port = options.server.port.map { ":\($0)" } ?? ""
        serverName = (options.server.host() ?? "") + port
        (self.logger, self.retryDelay) = (logger, retryDelay)
    }

    /// Shares until the group stops.
    public func run() async throws {
        await cancelWhenGracefulShutdown { [self] in
            while !Task.isCancelled {
                await share()
                // A new token may be there then.
                try? await Task.sleep(for: retryDelay)
            }
        }
        await client.shutdown()
    }

    private func share() async {
        do {
            try await client.run { [self] _ in
                watched.change { ($0.wholeAt, $0.trouble) = (Date(), nil) }
            } onOutage: { [self] error in
                note(.away(error.message))
            }
        } catch is CancellationError {
            return
        } catch let error as SyncError where error.code == .unauthorized {
            note(.signedOut(error.message))
        } catch {
            note(.stopped((error as? SyncError)?.message ?? "\(error)"))
        }
    }

    private func note(_ trouble: Trouble) {
        guard watched.change({ $0.trouble = trouble }) else { return }
        logger.notice("The journal is not shared with other devices now.", metadata: ["reason": "\(trouble)"])
    }

    // MARK: What pages ask

    var state: State { watched.value }

    /// The id of the account with a name; nil for nobody.
    ///
    /// - Throws: `SyncError`.
    func account(named name: String) async throws -> String? { try await client.account(named: name) }

    /// The id of the account that the journal belongs to; nil before the server has told it.
    func ownAccount() async throws -> String? { try await client.ownAccount() }

    /// Tells whenever the state has changed, until nobody listens.
    func changes() -> AsyncStream<Void> { watched.changes() }
}
