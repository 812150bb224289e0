import LFSHTTPStorage
import LFSStorage
import LFSWire

/// The signing server's refusal of one object.
struct SigningFailure: Error, CustomStringConvertible {
    let code: WireFailure.Code
    private let error: StorageError

    init(_ failure: WireFailure, about key: ObjectKey?) {
        code = failure.code
        let text = failure.message
        error = StorageError(
            failure.code.meaning,
            message: "The signing server refused the request" + (text.isEmpty ? "." : ": \(text)"),
            key: key,
            retryAfter: failure.retryAfter.map { min(.seconds($0), RetryAfter.limit) })
    }

    /// The error in the terms of the storage contract. This value is its cause.
    var storageError: StorageError {
        var error = error
        error.cause = self
        return error
    }

    var description: String { error.message }
}

extension WireFailure.Code {
    /// The error code of the storage contract for a code of the protocol.
    var meaning: StorageError.Code {
        switch self {
        case .missing: .missing
        case .forbidden: .forbidden
        case .invalidKey: .invalidKey
        case .invalidRequest: .invalidRequest
        case .tooLarge: .tooLarge
        case .integrity: .integrity
        case .throttled, .inProgress: .throttled
        case .noSpace: .noSpace
        case .unavailable: .unreachable
        case .timeout: .timeout
        case .unauthorized: .unauthorized
        default: .serverError
        }
    }
}

extension SigningAnswer {
    /// - Throws: ``SigningFailure`` when the object was refused.
    func requireNoError(_ key: ObjectKey?) throws -> SigningAnswer {
        if let error { throw SigningFailure(error, about: key) }
        return self
    }

    /// Returns the action for an operation.
    func requiredAction(_ operation: SigningOperation, key: ObjectKey?) throws -> SigningAction {
        guard let action = try requireNoError(key).action(for: operation) else { throw Self.nonsense(key) }
        return action
    }

    /// Returns the object, which must have the requested key.
    func requiredObject(_ key: ObjectKey) throws -> Object {
        guard let object = try requireNoError(key).object, object.key == key.rawValue else { throw Self.nonsense(key) }
        return object
    }

    /// Returns the error for an answer that does not match the request.
    static func nonsense(_ key: ObjectKey?) -> StorageError {
        StorageError(.serverError, message: "The signing server's reply does not match the request.", key: key)
    }
}
