import NIOCore

/// The remaining time of a peer, which depends on the bytes that the peer has transferred.
///
/// The remaining time starts at one window and decreases while the server waits for the peer. Each byte adds the time
/// that it may take. The maximum is two windows, because a system delivers bytes in large pieces.
struct TransferPace {
    private let window: Int64
    private let perByte: Int64
    private var left: Int64
    private var waitingSince: NIODeadline?

    init(_ limits: ConnectionLimits) {
        window = limits.rateWindow.nanoseconds
        perByte = 1_000_000_000 / Int64(max(1, limits.bytesPerSecond))
        left = window
    }

    /// The time at which the connection is too slow, or nil while the server does not wait.
    var deadline: NIODeadline? { waitingSince.map { $0 + .nanoseconds(left) } }

    /// Resets the remaining time for a new transfer.
    mutating func restart() {
        left = window
        waitingSince = nil
    }

    mutating func setWaiting(_ isWaiting: Bool, at now: NIODeadline) {
        settle(now)
        waitingSince = isWaiting ? now : nil
    }

    mutating func add(_ byteCount: Int, at now: NIODeadline) {
        settle(now)
        let gained = Int64(byteCount).multipliedReportingOverflow(by: perByte)
        left = min(left + (gained.overflow ? window : min(gained.partialValue, 2 * window)), 2 * window)
    }

    private mutating func settle(_ now: NIODeadline) {
        guard let since = waitingSince else { return }
        left -= (now - since).nanoseconds
        waitingSince = now
    }
}
