import Crypto
import Foundation
import LFSHTTP
import LFSHTTPStorage
import LFSStorage

/// A signer with an account's key ("Authorize with Shared Key" of the Blob service REST API).
struct SharedKeySignature: Sendable {
    let account: String
    private let key: SymmetricKey

    /// - Parameter key: the key in base64.
    /// - Throws: ``StorageError/Code/unauthorized``.
    init(account: String, key: String) throws(StorageError) {
        guard let bytes = Data(base64Encoded: key), !bytes.isEmpty else {
            throw StorageError(.unauthorized, message: "The account's key is not base64: copy it again.")
        }
        self.account = account
        self.key = SymmetricKey(data: bytes)
    }

    /// Returns the value of the `Authorization` field.
    ///
    /// - Parameters:
    ///   - path: the path as it is sent. With an emulator, the account is in the path, so the signed text contains it
    ///     twice.
    ///   - query: the parameters, not encoded.
    ///   - headers: all fields that are sent, without the length.
    func field(
        _ method: HTTPRequest.Method, path: String, query: [(name: String, value: String)], headers: HTTPHeaders,
        byteCount: Int64
    ) -> String {
        let text = Self.stringToSign(
            method, account: account, path: path, query: query, headers: headers, byteCount: byteCount)
        let signature = HMAC<SHA256>.authenticationCode(for: Data(text.utf8), using: key)
        return "SharedKey \(account):\(Data(signature).base64EncodedString())"
    }

    /// The standard header fields of the signature, in order. Content encoding, content language and length precede
    /// them.
    private static let fields = [
        "content-md5", "content-type", "date", "if-modified-since", "if-match", "if-none-match", "if-unmodified-since",
        "range",
    ]

    static func stringToSign(
        _ method: HTTPRequest.Method, account: String, path: String, query: [(name: String, value: String)],
        headers: HTTPHeaders, byteCount: Int64
    ) -> String {
        var lines = [
            method.rawValue, headers["content-encoding"] ?? "", headers["content-language"] ?? "",
            byteCount == 0 ? "" : String(byteCount),
        ]
        lines += fields.map { headers[$0] ?? "" }
        // The service sorts by its own collation, which gives the same order for the names used by this package.
        let own = headers.fields.filter { $0.name.hasPrefix("x-ms-") }.sorted { $0.name < $1.name }
        lines += own.map { "\($0.name):\($0.value)" }
        lines.append("/\(account)\(path)")
        lines += query.sorted { ($0.name, $0.value) < ($1.name, $1.value) }.map { "\($0.name):\($0.value)" }
        return lines.joined(separator: "\n")
    }
}
