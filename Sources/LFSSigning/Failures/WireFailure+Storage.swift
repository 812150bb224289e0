import LFSStorage
import LFSWire

extension WireFailure {
    /// What a caller is told of an error. What the store or the system said stands in the server's log only.
    init(_ error: any Error) {
        if let failure = error as? WireFailure {
            self = failure
        } else if let error = error as? StorageError {
            self.init(storage: error)
        } else if error is CancellationError {
            self.init(.unavailable, "The server is stopping: try again.")
        } else {
            self.init(.serverError, "The server could not do that. Its log says why.")
        }
    }

    private init(storage error: StorageError) {
        let (code, message) = Self.meaning(of: error.code)
        self.init(code, message, retryAfter: error.retryAfter.map { max($0.components.seconds, 1) })
    }

    private static func meaning(of code: StorageError.Code) -> (Code, String) {
        switch code {
        case .missing: (.missing, "There is no such object.")
        case .invalidKey: (.invalidKey, "The key breaks the rules for keys.")
        case .tooLarge: (.tooLarge, "The store does not take an object of that size.")
        case .integrity, .changed: (.integrity, "The store has something else.")
        // It may be about this object alone: a lock, a policy.
        case .forbidden: (.forbidden, "The store does not allow that.")
        case .throttled: (.throttled, "The store asks for fewer requests.")
        case .noSpace: (.noSpace, "The store has no room left.")
        case .timeout: (.timeout, "The store did not answer in time.")
        // The store refuses this server, which is about no object of the caller's.
        case .unreachable, .unauthorized, .misconfigured, .cancelled:
            (.unavailable, "The store cannot be used now.")
        case .invalidRequest, .rangeRefused: (.invalidRequest, "The store does not take that.")
        default: (.serverError, "The server could not do that. Its log says why.")
        }
    }
}
