package import LFSHTTP
package import LFSStorage

/// A transport that adds the header fields of ``ConnectionOptions/headers`` to requests.
///
/// It adds them after a storage has signed its request, so they are not part of a signature.
struct CustomHeaders: HTTPTransport {
    let base: any HTTPTransport
    let headers: HTTPHeaders
    /// The server that gets the fields, or nil for all servers.
    let origin: HTTPOrigin?

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        guard origin == nil || request.origin == origin else { return try await base.send(request) }
        var request = request
        // A field of the request itself has precedence.
        for field in headers.fields where request.headers[field.name] == nil {
            try request.headers.set(field.name, value: field.value)
        }
        return try await base.send(request)
    }

    func shutdown() async { await base.shutdown() }

    var executor: (any TaskExecutor)? { base.executor }
}

extension ConnectionOptions {
    /// Returns the transport for a storage, which adds the custom header fields.
    ///
    /// - Parameters:
    ///   - given: the transport to use instead of the platform's.
    ///   - origin: the server that gets the custom fields. Nil if the storage uses the transport for one server only.
    /// - Throws: ``StorageError/Code/invalidRequest`` for a header field that is not allowed.
    package func transport(
        _ given: (any HTTPTransport)? = nil, to origin: HTTPOrigin? = nil
    ) throws(StorageError) -> any HTTPTransport {
        let fields = try customFields()
        let base = given ?? DefaultTransport.make(HTTPOptions(self))
        return headers.isEmpty ? base : CustomHeaders(base: base, headers: fields, origin: origin)
    }

    private func customFields() throws(StorageError) -> HTTPHeaders {
        var fields = HTTPHeaders()
        for (name, value) in headers.sorted(by: { $0.key < $1.key }) {
            guard !Self.isReserved(name.lowercased()) else {
                throw StorageError(
                    .invalidRequest,
                    message: "The header field \(name) cannot be set, because LFS or HTTP sets it. Use another name.")
            }
            do {
                try fields.set(name, value: value)
            } catch {
                // The message contains the name, never the value.
                throw StorageError(.invalidRequest, message: error.message, cause: error)
            }
        }
        return fields
    }

    /// Returns true for a field that LFS, a storage or the connection sets, or that changes the meaning of a request.
    private static func isReserved(_ name: String) -> Bool {
        let names: Set<String> = [
            "accept", "accept-encoding", "authorization", "connection", "content-encoding", "content-length",
            "content-md5", "content-range", "content-type", "date", "depth", "destination", "expect", "host", "if",
            "keep-alive", "origin", "overwrite", "range", "te", "trailer", "transfer-encoding", "upgrade",
            "user-agent",
        ]
        let prefixes = ["if-", "lfs-", "proxy-", "x-amz-", "x-goog-", "x-http-method", "x-lfs-", "x-ms-"]
        return names.contains(name) || prefixes.contains { name.hasPrefix($0) }
    }
}
