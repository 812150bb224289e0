package import LFSHTTP
package import LFSStorage

/// The download of an object or a range of it. A storage provides the request and the description of an object.
package struct HTTPDownload: Sendable {
    private let request: DownloadRequest

    package init(_ request: DownloadRequest) { self.request = request }

    /// The error for a reply that may come from a proxy or a sign-in page.
    private struct UnknownReply: Error {}

    /// Downloads the object, or describes it if the range contains none of its bytes.
    ///
    /// - Parameters:
    ///   - describe: returns the object as the server describes it.
    ///   - isBeyondEnd: returns true for the error of a range that begins after the end of the object.
    ///   - fetch: requests the bytes.
    /// - Throws: `StorageError.Code.changed` if the described object is another version than requested, and the errors
    ///   of the closures.
    package func run(
        describe: () async throws -> RemoteObject, isBeyondEnd: (any Error) -> Bool,
        fetch: () async throws -> RemoteObject
    ) async throws -> RemoteObject {
        // HTTP cannot request zero bytes.
        if let range = request.range, range.isEmpty { return try request.requireAsked(try await describe()) }
        do {
            return try await fetch()
        } catch is UnknownReply {
            throw StorageError(
                .serverError, message: "The server's reply to a download is not the object.", key: request.key)
        } catch let error where request.range != nil && isBeyondEnd(error) {
            // The reply has no bytes. The object exists.
            return try request.requireAsked(try await describe())
        }
    }

    /// Requests the bytes and passes those of the range to the sink.
    ///
    /// - Parameters:
    ///   - sink: receives the bytes.
    ///   - rangeField: the name of the field for the range.
    ///   - comparesTag: sends `If-Match`. The entity tag of the reply is always compared.
    ///   - isOwn: returns true if the storage's server sent the reply, and not a proxy in front of it.
    ///   - send: sends a request with these fields, and passes the reply's bytes to the body.
    /// - Returns: the head of the reply, and the size of the whole object.
    package func fetch(
        into sink: DownloadSink, rangeField: String = "range", comparesTag: Bool = true,
        isOwn: @escaping @Sendable (HTTPResponseHead) -> Bool,
        _ send: (_ fields: HTTPHeaders, _ reply: ResponseBody) async throws -> HTTPResponse
    ) async throws -> (head: HTTPResponseHead, byteCount: Int64) {
        var fields: HTTPHeaders = [:]
        if let range = request.range { try fields.set(rangeField, value: range.asField) }
        if comparesTag, let tag = request.entityTag.flatMap(EntityTag.init) {
            try fields.set("if-match", value: tag.quoted)
        }
        let filter = RangeFilter(request, sink: sink, isOwn: isOwn)
        let response: HTTPResponse
        do {
            response = try await send(fields, filter.reply)
        } catch {
            // The body of a rejected reply may have been too long to read. The reason of the rejection is more precise.
            throw filter.refusal(request.key) ?? error
        }
        guard isOwn(response.head) else { throw UnknownReply() }
        return (response.head, try filter.finish(request.key))
    }

    /// Downloads an object. If the reply is ambiguous, the server describes the object, and it is requested once more.
    ///
    /// - Parameters:
    ///   - isOwn: returns true for a reply that must be an object.
    ///   - isMissing: returns true for the error of a missing object. An upload may have finished since.
    ///   - describe: describes the object. Only the server itself can confirm that a page is the object.
    ///   - isObject: returns true for a reply that may be the described object.
    ///   - fetch: requests the bytes.
    package func fetchOrAsk<Description: Sendable>(
        isOwn: @escaping @Sendable (HTTPResponseHead) -> Bool, isMissing: (any Error) -> Bool,
        describe: () async throws -> Description,
        isObject: @escaping @Sendable (HTTPResponseHead, Description) -> Bool,
        fetch: (_ isOwn: @escaping @Sendable (HTTPResponseHead) -> Bool) async throws -> RemoteObject
    ) async throws -> RemoteObject {
        do {
            return try await fetch(isOwn)
        } catch let error where !(error is UnknownReply || isMissing(error)) {
            throw error
        } catch {
            let found = try await describe()
            do {
                return try await fetch { isOwn($0) || isObject($0, found) }
            } catch is UnknownReply {
                throw StorageError(
                    .unreachable,
                    message: "The reply is not the file. Check for a proxy or a sign-in page in front of the storage.",
                    key: request.key)
            }
        }
    }
}
