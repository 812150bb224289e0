package import Foundation
import LFSSystem
import Logging
import Synchronization

/// The clock for signatures: this machine's time, corrected by the server's time.
///
/// A server refuses a signature whose date is off by more than 15 minutes. The clock ignores a server time that is more
/// than a day away. Otherwise that server could obtain signatures for any date.
package final class SigningClock: Sendable {
    private static let farthest: TimeInterval = 86_400

    private let system: @Sendable () -> Date
    private let offset = Mutex<TimeInterval>(0)

    package init(system: @escaping @Sendable () -> Date = { Date() }) {
        self.system = system
    }

    /// The best known estimate of the server's time.
    package var now: Date { system().addingTimeInterval(offset.withLock { $0 }) }

    /// Adopts the time of a server that refused a signature because of its date.
    ///
    /// - Parameter date: the date that the refused request was signed with. Many requests may be refused at once. Each
    ///   of them is signed again, even if another one has already corrected the clock.
    /// - Returns: true if the two dates are a minute or more apart, so another signature may succeed. false if the
    ///   server's time is more than a day away from this machine's.
    package func adjust(to serverDate: Date, signedAt date: Date) -> Bool {
        guard abs(serverDate.timeIntervalSince(date)) >= 60 else { return false }
        let new = serverDate.timeIntervalSince(system())
        guard abs(new) <= Self.farthest else {
            Logger.current.warning(
                "A server reported a time more than a day away, which was ignored. Check this machine's clock.",
                metadata: ["seconds": "\(Int64(saturating: new))"])
            return false
        }
        let isNew = offset.withLock { offset in
            defer { offset = new }
            return abs(offset - new) >= 60
        }
        if isNew {
            Logger.current.notice(
                "Requests are signed with the server's time, not this machine's.",
                metadata: ["seconds": "\(Int64(saturating: new))"])
        }
        return true
    }
}
