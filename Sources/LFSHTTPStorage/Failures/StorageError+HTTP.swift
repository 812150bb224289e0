package import LFSHTTP
package import LFSStorage
import LFSSystem

extension StorageError {
    /// Runs a call of a storage and throws what ends it in the terms of the contract, as far as it is not the server's
    /// own word: a reply that is missing, and a cancellation.
    package static func translating<Result>(
        _ key: ObjectKey?, _ body: () async throws -> Result
    ) async throws -> Result {
        do {
            return try await body()
        } catch let error as HTTPError {
            throw StorageError(error, key: key)
        } catch let error as CancellationError {
            throw StorageError(wrapping: error, key: key)
        }
    }

    /// What a missing reply means to whoever uploads, downloads or deletes.
    package init(_ error: HTTPError, key: ObjectKey? = nil) {
        if let cause = error.cause as? StorageError {
            self = cause
            if self.key == nil { self.key = key }
            return
        }
        if case .bodyUnreadable = error.code, let cause = error.cause as? SystemError {
            self = UploadSource.failure("read", cause)
            self.key = key
            return
        }
        let code: Code =
            switch error.code {
            case .invalidRequest: .invalidRequest
            case .untrusted, .wrongProtocol: .misconfigured
            case .unreachable, .closed: .unreachable
            case .connectionLost, .invalidReply: .serverError
            case .timeout: .timeout
            case .bodyUnreadable: .sourceChanged
            case .cancelled: .cancelled
            }
        self.init(code, error.message, key: key, cause: error)
    }
}
