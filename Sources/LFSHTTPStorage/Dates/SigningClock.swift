package import Foundation
import LFSSystem
import Logging
import Synchronization

/// The time that requests are signed with: this machine's, put right by what a server said.
///
/// A server refuses a signature that is more than 15 minutes off. One that names a time more than a day away is not
/// followed: it would get signatures for a time of its choice.
package final class SigningClock: Sendable {
    private static let farthest: TimeInterval = 86_400

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
    /// - Returns: whether the two are a minute or more apart, so that signing once more may help. false for a server
    ///   that is more than a day away from this machine.
    package func adjust(to serverDate: Date, signedAt date: Date) -> Bool {
        guard abs(serverDate.timeIntervalSince(date)) >= 60 else { return false }
        let new = serverDate.timeIntervalSince(system())
        guard abs(new) <= Self.farthest else {
            Logger.current.warning(
                "A server names a time more than a day away, which is not followed. Check this machine's clock.",
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
