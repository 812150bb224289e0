import Foundation
import Hummingbird
import LFS

/// The fields of a form in the encoding of browsers: `application/x-www-form-urlencoded`
/// (https://url.spec.whatwg.org/#application/x-www-form-urlencoded).
struct Form: Sendable {
    /// The maximum size of a form. Even a long comment is much shorter.
    static let maxByteCount = 2 << 20

    private let fields: [String: [String]]
    /// The path of the page of this server that has sent the form. Nil if it is unknown.
    var page: String?

    /// Reads the form of a request. A form that does not come from a page of this session is refused.
    ///
    /// - Throws: ``WebError``.
    static func read(_ request: Request, context: JournalContext, sessions: Sessions) async throws -> Form {
        let type = request.headers[.contentType]?.prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces)
        guard type?.lowercased() == "application/x-www-form-urlencoded" else {
            throw WebError(.wrongType, message: "The request is not a form.")
        }
        let form = Form(String(buffer: try await body(of: request)))
        guard sessions.isToken(form["token"], of: context.session) else { throw Self.foreign }
        return form
    }

    static let foreign = WebError(
        .foreignForm,
        message: "This page is out of date or belongs to another browser. Reload it and try again.")

    private static func body(of request: Request) async throws -> ByteBuffer {
        let tooLarge = WebError(.tooLarge, message: "The form is larger than \(maxByteCount) bytes.")
        if let length = request.headers[.contentLength].flatMap(Int.init), length > maxByteCount { throw tooLarge }
        var body = ByteBuffer()
        for try await var chunk in request.body {
            guard body.readableBytes + chunk.readableBytes <= maxByteCount else { throw tooLarge }
            body.writeBuffer(&chunk)
        }
        return body
    }

    init(_ text: String) {
        var fields: [String: [String]] = [:]
        for pair in text.split(separator: "&").prefix(10_000) {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            fields[Self.decoded(parts[0]), default: []].append(parts.count > 1 ? Self.decoded(parts[1]) : "")
        }
        self.fields = fields
    }

    /// Returns the first value of a field, or an empty text if the form does not contain the field.
    subscript(_ name: String) -> String { fields[name]?.first ?? "" }

    /// Returns all values of a field.
    func all(_ name: String) -> [String] { fields[name] ?? [] }

    /// The names of all fields in sorted order.
    var names: [String] { fields.keys.sorted() }

    /// Returns true if the form contains the field.
    func has(_ name: String) -> Bool { fields[name] != nil }

    /// Returns the file that the form names.
    ///
    /// - Throws: ``WebError/Code/badRequest``.
    func file() throws(WebError) -> FileID {
        guard let file = FileID(self["file"]) else {
            throw WebError(.badRequest, message: "The form names no picture of the journal. Reload the page.")
        }
        return file
    }

    /// Checks the confirmation that a form for a deletion requires.
    ///
    /// - Throws: ``WebError/Code/badRequest``.
    func requireSure() throws(WebError) {
        guard self["sure"] == "yes" else {
            throw WebError(.badRequest, message: "Tick the box to confirm, and send the form again.")
        }
    }

    private static func decoded(_ text: Substring) -> String {
        let spaced = text.replacing("+", with: " ")
        // Browsers send line breaks as CR LF, and they are stored as LF.
        return (String(spaced).removingPercentEncoding ?? String(spaced)).replacing("\r\n", with: "\n")
    }
}

extension Request {
    /// The fields of the query.
    var fields: Form { Form(uri.query ?? "") }
}
