import Foundation
import LFSStorage
import LFSWire

/// The requests to the URLs of a ``SigningBackend/directory(at:publicURL:secret:)``. They carry no bearer token: the
/// URL says what is allowed.
extension SigningService {
    /// Whether there are such URLs.
    public var servesBytes: Bool { backend.folder != nil }

    /// Takes what a `PUT` sends.
    ///
    /// - Parameters:
    ///   - request: its path, its query and its fields.
    ///   - body: in pieces. It is read no further than the URL allows.
    ///   - requestID: for the log.
    public func put<Body: AsyncSequence>(
        _ request: BytesRequest, body: Body, requestID: String? = nil
    ) async -> BytesReply where Body.Element: Collection<UInt8> & Sendable {
        do {
            let (folder, permit) = try permit("PUT", request)
            let signature = FolderLinks.signature(of: request.query)
            let reply = try await folder.put(permit, request.headers, body, signature: signature) { [budgets] in
                if let caller = permit.caller { try budgets.open($0, caller: caller) }
            }
            log("put", permit.key.rawValue, nil, requestID, nil)
            return reply
        } catch {
            return refusal(of: "put", error, requestID)
        }
    }

    /// Sends what a `GET` asks for.
    public func get(_ request: BytesRequest, requestID: String? = nil) async -> BytesReply {
        do {
            let (folder, permit) = try permit("GET", request)
            let reply = try await folder.get(permit, request.headers)
            log("get", permit.key.rawValue, nil, requestID, nil)
            return reply
        } catch {
            return refusal(of: "get", error, requestID)
        }
    }

    /// The hash of the caller that a URL was signed for, as ``hash(ofCaller:)`` makes it; nil for an invalid URL.
    public func caller(ofURL request: BytesRequest, method: String) -> String? {
        backend.folder?.links.permit(method: method, key: request.key, query: request.query)?.caller
    }

    /// Removes what uploads to a folder have left that nobody goes on with, such as parts of an upload whose device is
    /// gone. A bucket does that by a rule of its life cycle.
    ///
    /// - Parameter age: what is younger stays. Devices may go on with an upload for as long; at least a day.
    /// - Throws: `StorageError`, the system's error.
    public func removeAbandonedUploads(olderThan age: Duration = .seconds(7 * 86_400)) async throws {
        try await backend.folder?.removeAbandoned(olderThan: max(age, .seconds(86_400)))
    }

    private func permit(_ method: String, _ request: BytesRequest) throws(BytesRefusal) -> (FolderStore, FolderPermit) {
        guard let folder = backend.folder,
            let permit = folder.links.permit(method: method, key: request.key, query: request.query)
        else { throw BytesRefusal.forbidden }
        return (folder, permit)
    }

    private func refusal(of operation: String, _ error: any Error, _ requestID: String?) -> BytesReply {
        let (status, failure): (Int, WireFailure)
        if let refusal = error as? BytesRefusal {
            (status, failure) = (refusal.status, refusal.failure)
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
        log(operation, nil, nil, requestID, failure.code, error)
        let reply = SigningReply(status, failure)
        return BytesReply(status: status, headers: reply.headers, body: .whole(Array(reply.body)))
    }
}
