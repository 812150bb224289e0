import Foundation
import LFSHTTPStorage
import LFSStorage
import LFSWire

/// The content of a token for an upload in parts.
struct UploadTicket: Hashable, Sendable {
    let key: ObjectKey
    /// The size and the SHA-256 of the whole object.
    let bytes: DeclaredContent
    let partSize: Int64
    /// The store's name for the upload.
    let upload: String
    let replaces: Bool

    var partCount: Int { Int(max((bytes.byteCount + partSize - 1) / partSize, 1)) }

    /// Returns the size of a part, or nil for a number without a part.
    func size(of number: Int) -> Int64? {
        guard (1...partCount).contains(number) else { return nil }
        return min(bytes.byteCount - Int64(number - 1) * partSize, partSize)
    }
}

/// A codec for the tokens of uploads in parts. A token is the ticket as JSON in base64url (RFC 4648, section 5), a dot,
/// and a code over that and the caller. Only the server that created a token accepts it, and only from the same caller.
struct UploadTokens: Sendable {
    private struct Body: Codable {
        var key: String
        var size: Int64
        var sha256: String
        var part: Int64
        var upload: String
        var replaces: Bool
    }

    private static let purpose = "lfs upload token 1"

    let secret: SigningSecret

    /// Returns a token.
    ///
    /// - Throws: `EncodingError`, which no ticket causes.
    func token(for ticket: UploadTicket, caller: String) throws -> String {
        let body = Body(
            key: ticket.key.rawValue, size: ticket.bytes.byteCount, sha256: ticket.bytes.sha256, part: ticket.partSize,
            upload: ticket.upload, replaces: ticket.replaces)
        let text = Self.base64URL(try WireFormat.encode(body))
        return "\(text).\(secret.code(Self.purpose, lines: [text, caller]))"
    }

    /// Returns the ticket of a token.
    ///
    /// - Throws: ``WireFailure/Code/lostUpload`` for any text that ``token(for:caller:)`` has not created for this
    ///   caller.
    func ticket(_ token: String, caller: String) throws(WireFailure) -> UploadTicket {
        let halves = token.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard halves.count == 2, secret.isCode(halves[1], purpose: Self.purpose, lines: [halves[0], caller]),
            let ticket = Self.ticket(halves[0])
        else { throw WireFailure(.lostUpload, message: "The server does not know this upload. Start it again.") }
        return ticket
    }

    /// Returns the key of an upload for the log, or nil for a token that ``ticket(_:caller:)`` refuses.
    func key(of token: String, caller: String) -> String? {
        let result = Result { () throws(WireFailure) in try ticket(token, caller: caller) }
        return if case .success(let ticket) = result { ticket.key.rawValue } else { nil }
    }

    private static func ticket(_ text: String) -> UploadTicket? {
        let padded =
            text.replacing("-", with: "+").replacing("_", with: "/")
            + String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
        guard let data = Data(base64Encoded: padded), let body = try? JSONDecoder().decode(Body.self, from: data),
            let key = ObjectKey(listed: body.key), body.part > 0, body.size >= 0
        else { return nil }
        return UploadTicket(
            key: key, bytes: DeclaredContent(byteCount: body.size, sha256: body.sha256), partSize: body.part,
            upload: body.upload, replaces: body.replaces)
    }

    private static func base64URL(_ data: Data) -> String {
        data.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
}
