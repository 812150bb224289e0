package import Foundation
import LFSHTTP
import Synchronization

/// The time that requests are signed with: this machine's, put right by what a server said.
///
/// A server refuses a signature that is more than 15 minutes off. Owner of its state: the mutex.
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
    /// - Returns: whether that moved the time by a minute or more, so that signing once more may help.
    package func adjust(to serverDate: Date) -> Bool {
        let new = serverDate.timeIntervalSince(system())
        return offset.withLock { offset in
            let moved = abs(new - offset) >= 60
            offset = new
            return moved
        }
    }
}
