public import Hummingbird
import LFSSigningServer
import Synchronization

/// The facts about a request that its routes find out, for the log.
///
/// The mutex owns the facts.
public final class RequestRecord: Sendable {
    private struct Facts {
        var account: String?
        var session: String?
    }

    private let facts = Mutex(Facts())

    /// Creates an empty record.
    public init() {}

    /// The hash of the account whose token the request has, as `SigningService.hash(ofCaller:)` creates it.
    public var account: String? { facts.withLock { $0.account } }

    /// The hash of the session's token. The token cannot be computed from it.
    public var session: String? { facts.withLock { $0.session } }

    /// Records the hash of the account.
    func record(account: String) { facts.withLock { $0.account = account } }

    /// Records the session of a valid token.
    ///
    /// - Parameter token: the token, of which only a hash is kept.
    public func record(sessionToken token: String) {
        let hash = SigningService.hash(ofCaller: token)
        facts.withLock { $0.session = hash }
    }
}

/// A request context with a record for the log.
public protocol RecordedContext: RequestContext {
    /// The record of the request.
    var record: RequestRecord { get }
}
