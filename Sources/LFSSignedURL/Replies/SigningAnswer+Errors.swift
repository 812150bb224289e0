import LFSHTTPStorage
import LFSStorage
import LFSWire

/// An object that the signing server refused.
struct SigningFailure: Error, CustomStringConvertible {
    let code: WireFailure.Code
    private let error: StorageError

    init(_ failure: WireFailure, about key: ObjectKey?) {
        code = failure.code
        let text = failure.message
        error = StorageError(
            failure.code.meaning, "The signing server refused it" + (text.isEmpty ? "." : ": \(text)"), key: key,
            retryAfter: failure.retryAfter.map { min(.seconds($0), RetryAfter.limit) })
    }

    /// In the terms of the contract, with this as its cause.
    var storageError: StorageError {
        var error = error
        error.cause = self
        return error
    }

    var description: String { error.message }
}

extension WireFailure.Code {
    /// What a code of the protocol means to whoever uploads, downloads or deletes.
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

    /// The action for an operation.
    func requiredAction(_ operation: SigningOperation, _ key: ObjectKey?) throws -> SigningAction {
        guard let action = try requireNoError(key).action(for: operation) else { throw Self.nonsense(key) }
        return action
    }

    /// The object, which has to be the one that was asked for.
    func requiredObject(_ key: ObjectKey) throws -> Object {
        guard let object = try requireNoError(key).object, object.key == key.rawValue else { throw Self.nonsense(key) }
        return object
    }

    /// For an answer to another question than the one that was asked.
    static func nonsense(_ key: ObjectKey?) -> StorageError {
        StorageError(.serverError, "The signing server's answer is not one to what it was asked.", key: key)
    }
}
