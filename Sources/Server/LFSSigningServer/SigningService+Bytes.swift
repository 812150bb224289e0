import Foundation
import LFSStorage
import LFSWire

/// Requests to the URLs of a ``SigningBackend/directory(at:publicURL:secret:reserve:)``. They carry no bearer token,
/// because the URL itself contains the permission.
extension SigningService {
    /// True if the server has URLs of its own for bytes.
    public var servesBytes: Bool { backend.folder != nil }

    /// Receives the body of a `PUT`.
    ///
    /// - Parameters:
    ///   - request: the path, the query and the fields of the request.
    ///   - body: the body in pieces. It is read no further than the URL allows.
    ///   - requestID: a name of the request for the log.
    public func put<Body: AsyncSequence>(
        _ request: BytesRequest, body: Body, requestID: String? = nil
    ) async -> BytesReply where Body.Element: Collection<UInt8> & Sendable {
        do {
            let (folder, permit) = try permit("PUT", request: request)
            let signature = FolderLinks.signature(of: request.query)
            let reply = try await folder.put(permit, headers: request.headers, body, signature: signature) {
                [budgets] in
                if let caller = permit.caller { try budgets.open($0, caller: caller) }
            }
            log("put", key: permit.key.rawValue, requestID: requestID)
            return reply
        } catch {
            return refusal(of: "put", error, requestID: requestID)
        }
    }

    /// Answers a `GET` with the object's bytes.
    public func get(_ request: BytesRequest, requestID: String? = nil) async -> BytesReply {
        do {
            let (folder, permit) = try permit("GET", request: request)
            let reply = try await folder.get(permit, headers: request.headers)
            log("get", key: permit.key.rawValue, requestID: requestID)
            return reply
        } catch {
            return refusal(of: "get", error, requestID: requestID)
        }
    }

    /// Returns the hash of the caller for whom a URL was signed, as ``hash(ofCaller:)`` creates it. Nil for an invalid
    /// URL.
    public func caller(ofURL request: BytesRequest, method: String) -> String? {
        backend.folder?.links.permit(method: method, key: request.key, query: request.query)?.caller
    }

    /// Removes the remains of abandoned uploads to a folder, such as parts of a device that no longer exists. A bucket
    /// does that with a lifecycle rule.
    ///
    /// - Parameter age: the minimum age of the remains, which is the time that devices have to continue an upload. At
    ///   least a day.
    /// - Throws: `StorageError`, the system's error.
    public func removeAbandonedUploads(olderThan age: Duration = .seconds(7 * 86_400)) async throws {
        try await backend.folder?.removeAbandoned(olderThan: max(age, .seconds(86_400)))
    }

    private func permit(_ method: String, request: BytesRequest) throws(BytesRefusal) -> (FolderStore, FolderPermit) {
        guard let folder = backend.folder,
            let permit = folder.links.permit(method: method, key: request.key, query: request.query)
        else { throw BytesRefusal.forbidden }
        return (folder, permit)
    }

    private func refusal(of operation: String, _ error: any Error, requestID: String?) -> BytesReply {
        let (status, failure): (Int, WireFailure)
        if let refusal = error as? BytesRefusal {
            status = refusal.status
            failure = refusal.failure
        } else {
            failure = WireFailure(error)
            status =
                switch failure.code {
                case .missing: 404
                case .noSpace: 507
                case .unavailable: 503
                case .throttled: 429
                default: 500
                }
        }
        log(operation, requestID: requestID, code: failure.code, error: error)
        let reply = SigningReply(status, failure: failure)
        return BytesReply(status: status, headers: reply.headers, body: .whole(Array(reply.body)))
    }
}
