import Foundation
import LFSHTTPStorage
import LFSStorage
import LFSWire

/// What the token of an upload in parts stands for.
struct UploadTicket: Hashable, Sendable {
    let key: ObjectKey
    /// Size and SHA-256 of the whole.
    let bytes: AnnouncedBytes
    let partSize: Int64
    /// The store's own name for the upload.
    let upload: String
    let replaces: Bool

    var partCount: Int { Int(max((bytes.byteCount + partSize - 1) / partSize, 1)) }

    /// The size of a part; nil for a number that no part has.
    func size(of number: Int) -> Int64? {
        guard (1...partCount).contains(number) else { return nil }
        return min(bytes.byteCount - Int64(number - 1) * partSize, partSize)
    }
}

/// Tokens are the ticket as JSON in base64url (RFC 4648, 5), a dot, and a code over that and the caller. Only the
/// server that has made one takes it, and only from the caller that it was made for.
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

    /// - Throws: `EncodingError`, which no ticket brings about.
    func token(for ticket: UploadTicket, caller: String) throws -> String {
        let body = Body(
            key: ticket.key.rawValue, size: ticket.bytes.byteCount, sha256: ticket.bytes.sha256, part: ticket.partSize,
            upload: ticket.upload, replaces: ticket.replaces)
        let text = Self.base64URL(try WireFormat.encode(body))
        return "\(text).\(secret.code(Self.purpose, [text, caller]))"
    }

    /// - Throws: ``WireFailure/Code/lostUpload`` for any other text than one that ``token(for:caller:)`` has made for
    ///   this caller.
    func ticket(_ token: String, caller: String) throws(WireFailure) -> UploadTicket {
        let halves = token.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard halves.count == 2, secret.isCode(halves[1], Self.purpose, [halves[0], caller]),
            let ticket = Self.ticket(halves[0])
        else { throw WireFailure(.lostUpload, "The server does not know this upload: begin anew.") }
        return ticket
    }

    /// The key of an upload, for the log; nil for a token that ``ticket(_:caller:)`` refuses.
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
            key: key, bytes: AnnouncedBytes(byteCount: body.size, sha256: body.sha256), partSize: body.part,
            upload: body.upload, replaces: body.replaces)
    }

    private static func base64URL(_ data: Data) -> String {
        data.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
}
