import Foundation
import LFSSystem
import Synchronization

/// The accounts of the tokens of recent requests, and tokens without a session. A request of a device that has just
/// sent another one needs no read of the database before its own transaction, and neither does a repeated made-up
/// token.
///
/// The mutex owns the entries.
final class KnownTokens: Sendable {
    private struct Entry {
        /// The account, or nil for a token without a session.
        let account: String?
        let until: Date
    }

    /// The time for which an entry is used.
    static let lifetime: TimeInterval = 60
    /// The maximum number of entries. Strangers can add entries, so the number of those without a session is limited
    /// separately.
    static let limit = 50_000

    private struct State {
        var accounts: [String: Entry] = [:]
        var strangers: [String: Entry] = [:]
    }

    private let now: @Sendable () -> Date
    private let state = Mutex(State())

    init(now: @escaping @Sendable () -> Date) { self.now = now }

    /// Returns the account of a token's session. Nil without a value if the token is not known.
    ///
    /// - Parameter read: reads the account from the database.
    func account(ofToken token: String, _ read: () async throws -> String?) async throws -> String? {
        let hash = SessionTable.hash(token)
        let now = now()
        let found = state.withLock { $0.accounts[hash] ?? $0.strangers[hash] }
        if let found, found.until > now { return found.account }
        let account = try await read()
        let entry = Entry(account: account, until: now.addingTimeInterval(Self.lifetime))
        state.withLock { state in
            state.accounts[hash] = nil
            state.strangers[hash] = nil
            if account == nil {
                Self.add(entry, hash: hash, to: &state.strangers, at: now)
            } else {
                Self.add(entry, hash: hash, to: &state.accounts, at: now)
            }
        }
        return account
    }

    /// Forgets a token, whose session has ended.
    func forget(_ token: String) { state.withLock { $0.accounts[SessionTable.hash(token)] = nil } }

    private static func add(_ entry: Entry, hash: String, to entries: inout [String: Entry], at now: Date) {
        if entries.count >= limit { entries = entries.filter { $0.value.until > now } }
        if entries.count >= limit { entries = [:] }
        entries[hash] = entry
    }
}
