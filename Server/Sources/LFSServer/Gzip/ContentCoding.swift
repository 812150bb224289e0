import HTTPTypes
import Hummingbird
import NIOCore

/// The content coding of bodies (RFC 9110, section 8.4): identity or gzip.
enum ContentCoding {
    /// Returns true if the client accepts a reply as gzip (RFC 9110, section 12.5.3).
    static func takesGzip(_ request: Request) -> Bool {
        request.headers[values: .acceptEncoding].joined(separator: ",").split(separator: ",").contains { part in
            let words = part.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" }.lowercased() }
            guard words.first == "gzip" else { return false }
            guard let weight = words.dropFirst().first(where: { $0.hasPrefix("q=") }) else { return true }
            return Double(weight.dropFirst(2)).map { $0 > 0 } ?? false
        }
    }

    /// Returns the decoded body of a request. If the body exceeds the limit, the result has one byte more than the
    /// limit, and the rest is not read.
    ///
    /// - Throws: `HTTPError` for an unknown coding and for invalid gzip data.
    static func body(of request: Request, limit: Int) async throws -> [UInt8] {
        switch request.headers[.contentEncoding]?.lowercased() {
        case nil, "identity":
            var bytes: [UInt8] = []
            for try await piece in request.body {
                bytes.append(contentsOf: piece.readableBytesView.prefix(limit + 1 - bytes.count))
                if bytes.count > limit { break }
            }
            return bytes
        case "gzip":
            do {
                let decoder = try GzipDecoder(limit: limit)
                for try await piece in request.body {
                    try decoder.decode(Array(piece.readableBytesView))
                    if decoder.isOverLimit { break }
                }
                return try decoder.finish()
            } catch GzipFailure.invalid {
                throw HTTPError(.badRequest)
            }
        default: throw HTTPError(.unsupportedMediaType)
        }
    }
}
