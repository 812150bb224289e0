import Foundation
import HTTPTypes
import Hummingbird

/// The fields of a form, as browsers send it: `application/x-www-form-urlencoded`
/// (https://url.spec.whatwg.org/#application/x-www-form-urlencoded).
struct Form: Sendable {
    /// A long comment is still far below.
    static let maxByteCount = 2 << 20

    private let fields: [String: [String]]

    /// Reads the form of a request, and refuses one that no page of this session has made.
    ///
    /// - Throws: ``WebError``.
    static func read(_ request: Request, _ context: JournalContext, sessions: Sessions) async throws -> Form {
        let type = request.headers[.contentType]?.prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces)
        guard type?.lowercased() == "application/x-www-form-urlencoded" else {
            throw WebError(.wrongType, "This is no form of a page.")
        }
        let form = Form(String(buffer: try await body(of: request)))
        guard sessions.isToken(form["token"], of: context.session) else { throw Self.foreign }
        return form
    }

    static let foreign = WebError(
        .foreignForm, "The page is older than the server, or of another browser. Load it again, and send it again.")

    private static func body(of request: Request) async throws -> ByteBuffer {
        let tooLarge = WebError(.tooLarge, "The form is larger than \(maxByteCount) bytes.")
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

    /// The first value of a field; empty when there is none.
    subscript(_ name: String) -> String { fields[name]?.first ?? "" }

    /// All values of a field.
    func all(_ name: String) -> [String] { fields[name] ?? [] }

    /// The names of all fields, in an order of their own.
    var names: [String] { fields.keys.sorted() }

    /// Whether the page had it at all.
    func has(_ name: String) -> Bool { fields[name] != nil }

    /// What deletes something asks once more.
    ///
    /// - Throws: ``WebError/Code/badRequest``.
    func requireSure() throws(WebError) {
        guard self["sure"] == "yes" else {
            throw WebError(.badRequest, "Say that you are sure, and send it again.")
        }
    }

    private static func decoded(_ text: Substring) -> String {
        let spaced = text.replacing("+", with: " ")
        // Line breaks come as CR LF, and are kept as LF.
        return (String(spaced).removingPercentEncoding ?? String(spaced)).replacing("\r\n", with: "\n")
    }
}

extension Request {
    /// The fields after the question mark.
    var fields: Form { Form(uri.query ?? "") }
}
