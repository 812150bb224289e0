package import Foundation
import Synchronization

/// The time that requests are signed with: this machine's, put right by what a server said.
///
/// A server refuses a signature that is more than 15 minutes off.
package final class SigningClock: Sendable {
    private let system: @Sendable () -> Date
    private let offset = Mutex<TimeInterval>(0)

    package init(system: @escaping @Sendable () -> Date = { Date() }) {
        self.system = system
    }

    /// The server's time, as far as it is known.
    package var now: Date { system().addingTimeInterval(offset.withLock { $0 }) }

    /// Takes over the time of a server that refused a signature for its date.
    ///
    /// - Parameter date: what the refused request was signed with. Many may be refused at once, and each of them is to
    ///   be signed again, whichever came first to put the time right.
    /// - Returns: whether the two are a minute or more apart, so that signing once more may help.
    package func adjust(to serverDate: Date, signedAt date: Date) -> Bool {
        guard abs(serverDate.timeIntervalSince(date)) >= 60 else { return false }
        let new = serverDate.timeIntervalSince(system())
        offset.withLock { $0 = new }
        return true
    }
}
