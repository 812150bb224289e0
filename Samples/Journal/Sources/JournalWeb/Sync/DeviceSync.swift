import Foundation
public import JournalStorage
public import LFSSync
public import Logging
public import ServiceLifecycle

/// The synchronization of a journal with the account's other devices, as a service with a state.
///
/// ```swift
/// let sync = try await DeviceSync(journal, options: SyncOptions(server: server) { token }, logger: logger)
/// let group = ServiceGroup(services: [journal.lfs, sync, server], gracefulShutdownSignals: [.sigterm], logger: logger)
/// ```
///
/// The service runs until the group stops: after an outage of the server, or if the server refuses the token, it tries
/// again.
public final class DeviceSync: Service {
    /// The reason why rows are not exchanged.
    enum Trouble: Hashable, Sendable {
        /// The server is unreachable or asks for patience.
        case away(String)
        /// The server refuses the token.
        case signedOut(String)
        /// An error that waiting alone does not resolve.
        case stopped(String)
    }

    struct State: Hashable, Sendable {
        /// The time of the last complete exchange since the start of the process.
        var wholeAt: Date?
        var trouble: Trouble?
    }

    /// The address of the server, as pages show it.
    let serverName: String
    let client: SyncClient
    private let logger: Logger
    private let retryDelay: Duration
    let state = Watched(State())

    /// Opens the synchronization without network access.
    ///
    /// - Parameters:
    ///   - journal: The journal that is shared.
    ///   - options: The server and the token of this device.
    ///   - retryDelay: The delay after an error that waiting alone does not resolve, such as a refused token.
    ///   - logger: The logger for failures. It never receives a token.
    /// - Throws: `SyncError`.
    public init(
        _ journal: DatabaseStorageService, options: SyncOptions, retryDelay: Duration = .seconds(15), logger: Logger
    ) async throws {
        client = try await SyncClient.open(journal.database, options: options)
        let port = options.server.port.map { ":\($0)" } ?? ""
        serverName = (options.server.host() ?? "") + port
        self.logger = logger
        self.retryDelay = retryDelay
    }

    /// Synchronizes until the service group stops.
    public func run() async throws {
        await cancelWhenGracefulShutdown { [self] in
            while !Task.isCancelled {
                await share()
                // A new token may be available then.
                try? await Task.sleep(for: retryDelay)
            }
        }
        await client.shutdown()
    }

    private func share() async {
        do {
            try await client.run { [self] _ in
                state.change { ($0.wholeAt, $0.trouble) = (Date(), nil) }
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
        guard state.change({ $0.trouble = trouble }) else { return }
        logger.notice("The journal does not sync with other devices now.", metadata: ["reason": "\(trouble)"])
    }
}
