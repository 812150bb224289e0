import LFSStorage
import LFSWire

extension WireFailure {
    /// Creates the failure that a caller receives for an error. Messages of the store and the system appear only in the
    /// server's log.
    init(_ error: any Error) {
        if let failure = error as? WireFailure {
            self = failure
        } else if let error = error as? StorageError {
            self.init(storage: error)
        } else if error is CancellationError {
            self.init(.unavailable, message: "The server is stopping. Try again.")
        } else {
            self.init(.serverError, message: "The server has failed. See its log.")
        }
    }

    private init(storage error: StorageError) {
        let (code, message) = Self.meaning(of: error.code)
        self.init(code, message: message, retryAfter: error.retryAfter.map { max($0.components.seconds, 1) })
    }

    private static func meaning(of code: StorageError.Code) -> (Code, String) {
        switch code {
        case .missing: (.missing, "There is no such object.")
        case .invalidKey: (.invalidKey, "The key breaks the rules for keys.")
        case .tooLarge: (.tooLarge, "The store does not accept an object of that size.")
        case .integrity, .changed: (.integrity, "The store has different content.")
        // The refusal may concern only this object, for example because of a lock or a policy.
        case .forbidden: (.forbidden, "The store does not allow the request.")
        case .throttled: (.throttled, "The store requests a lower rate.")
        case .noSpace: (.noSpace, "The store is full.")
        case .timeout: (.timeout, "The store did not answer in time.")
        // The store refuses this server, which does not concern an object of the caller.
        case .unreachable, .unauthorized, .misconfigured, .cancelled:
            (.unavailable, "The store cannot be used now.")
        case .invalidRequest, .rangeRefused: (.invalidRequest, "The store does not accept the request.")
        default: (.serverError, "The server has failed. See its log.")
        }
    }
}
