package import LFSHTTP
package import LFSStorage
import LFSSystem

extension StorageError {
    /// Runs a storage call and translates transport errors and cancellations to ``StorageError``. Errors from the
    /// server's own reply pass unchanged.
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

    /// Translates the error of a request that got no reply.
    package init(_ error: HTTPError, key: ObjectKey? = nil) {
        if let cause = error.cause as? StorageError {
            self = cause
            if self.key == nil { self.key = key }
            return
        }
        if case .bodyUnreadable = error.code, let cause = error.cause as? SystemError {
            self = UploadSource.failure("read", error: cause)
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
        self.init(code, message: error.message, key: key, cause: error)
    }
}
