public import Foundation
public import Logging
public import ServiceLifecycle
import Synchronization

/// A service that reports the state of this process to systemd, for units with `Type=notify`.
///
/// Without the variable `NOTIFY_SOCKET` it does nothing. A failure is logged, and the process continues. Add it as the
/// last service of a group, so that it learns first of the shutdown.
///
/// The mutex owns the state that was reported last. Source: sd_notify(3).
public final class ServiceManagerNotifier: Service {
    private enum State { case starting, running, stopping }

    private let socket: NotifySocket?
    private let logger: Logger
    private let state = Mutex(State.starting)

    /// Creates a notifier, which does nothing without an address.
    ///
    /// - Parameters:
    ///   - address: the address of systemd's socket. The default is the value of `NOTIFY_SOCKET`.
    ///   - logger: receives failures.
    public init(
        address: String? = ProcessInfo.processInfo.environment["NOTIFY_SOCKET"], logger: Logger
    ) {
        socket = address.flatMap { $0.isEmpty ? nil : NotifySocket(address: $0) }
        self.logger = logger
    }

    /// Reports once that the process serves requests. Units that start after this one wait for it.
    public func reportReady() {
        let isFirst = state.withLock { state in
            guard state == .starting else { return false }
            state = .running
            return true
        }
        if isFirst { send("READY=1") }
    }

    /// Reports the start and the end of a reload around the body. A process that is not ready yet only runs the body.
    public func reloading(_ body: () -> Void) {
        let isRunning = state.withLock { $0 == .running }
        if isRunning { send("RELOADING=1\nMONOTONIC_USEC=\(Self.microseconds)") }
        body()
        // A shutdown may have started during the reload.
        if isRunning, state.withLock({ $0 == .running }) { send("READY=1") }
    }

    /// Waits for the shutdown of the group and reports it.
    public func run() async throws {
        // A cancelled group stops as well.
        try? await gracefulShutdown()
        state.withLock { $0 = .stopping }
        send("STOPPING=1")
    }

    private func send(_ message: String) {
        do throws(NotifySocket.Failure) {
            try socket?.send(message)
        } catch {
            logger.warning("systemd did not receive the state of this process.", metadata: ["error": "\(error)"])
        }
    }

    /// The time of the monotonic clock, which systemd compares reloads with, in microseconds.
    private static var microseconds: Int64 { Int64(ProcessInfo.processInfo.systemUptime * 1_000_000) }
}
