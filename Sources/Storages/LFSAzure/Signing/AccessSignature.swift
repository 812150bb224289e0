import Crypto
import Foundation
import LFSHTTP
import LFSHTTPStorage
import LFSStorage

/// A shared access signature for one request to a blob that another client sends. It is the query of the request's URL.
///
/// Sources: "Create a service SAS" and "Create a user delegation SAS" of the REST reference. Only a user delegation SAS
/// can cover header fields (`srh`) and query parameters (`srq`), from version 2026-04-06 on.
struct AccessSignature: Sendable {
    /// The permission: `r` (read), `w` (write), or `c` (create a blob that does not exist).
    let permission: String
    /// The signed name, see ``AzurePlace/signedName(of:)``.
    let name: String
    let end: Date
    /// True if the request must be encrypted.
    let requiresTLS: Bool
    /// The header fields that a user delegation key covers. Names are lowercase.
    var headers: [(name: String, value: String)] = []
    /// The query parameters that a user delegation key covers, not encoded.
    var query: [(name: String, value: String)] = []

    static let delegatedVersion = "2026-04-06"
    static let keyVersion = "2023-11-03"

    /// Signs with the account's key. The signature covers the blob, the permission and the time, and nothing else.
    ///
    /// - Parameter key: the key in base64.
    /// - Throws: ``StorageError/Code/unauthorized``.
    func text(key: String) throws(StorageError) -> String {
        let fields = common(Self.keyVersion)
        // The empty fields are the stored policy, the IP address, the snapshot and the encryption scope.
        let lines = times + [name, "", "", scheme, Self.keyVersion, "b", "", ""] + replyFields
        return Self.joined(fields, code: try Self.code(lines, key: key))
    }

    /// Signs with a user delegation key. The signature also covers header fields and query parameters.
    ///
    /// - Throws: ``StorageError/Code/unauthorized`` for an invalid key.
    func text(_ key: DelegationKey) throws(StorageError) -> String {
        var fields = common(Self.delegatedVersion) + key.fields
        if !headers.isEmpty { fields.append(("srh", headers.map(\.name).joined(separator: ","))) }
        if !query.isEmpty { fields.append(("srq", query.map(\.name).joined(separator: ","))) }
        var lines = times + [name] + key.fields.map(\.value)
        // The empty fields are the authorized user, the checked user, the correlation ID, and the tenant and the user
        // of the sender.
        lines += [String](repeating: "", count: 5)
        lines += ["", scheme, Self.delegatedVersion, "b", "", ""]
        lines.append(headers.map { "\($0.name):\($0.value)\n" }.joined())
        lines.append(query.map { "\n\($0.name):\($0.value)" }.joined())
        lines += replyFields
        return Self.joined(fields, code: try Self.code(lines, key: key.value))
    }

    /// The `Content-Disposition` of the reply to a GET, so that a browser saves the object. Otherwise an HTML page
    /// among the objects would run with the origin of the container.
    private var disposition: String { permission == "r" ? "attachment" : "" }
    /// The values of `rscc`, `rscd`, `rsce`, `rscl` and `rsct`.
    private var replyFields: [String] { ["", disposition, "", "", ""] }

    private var times: [String] { [permission, "", UTCTime(end).signatureText] }
    private var scheme: String { requiresTLS ? "https" : "" }

    private func common(_ version: String) -> [(name: String, value: String)] {
        var fields = [("sp", permission), ("se", UTCTime(end).signatureText), ("sv", version), ("sr", "b")]
        if requiresTLS { fields.append(("spr", scheme)) }
        if !disposition.isEmpty { fields.append(("rscd", disposition)) }
        return fields.map { (name: $0.0, value: $0.1) }
    }

    private static func joined(_ fields: [(name: String, value: String)], code: String) -> String {
        (fields + [("sig", code)]).map { "\($0.name)=\(PercentEncoding.query($0.value))" }.joined(separator: "&")
    }

    private static func code(_ lines: [String], key: String) throws(StorageError) -> String {
        guard let bytes = Data(base64Encoded: key), !bytes.isEmpty else {
            throw StorageError(.unauthorized, message: "The signing key is not base64: copy it again.")
        }
        let text = Data(lines.joined(separator: "\n").utf8)
        return Data(HMAC<SHA256>.authenticationCode(for: text, using: SymmetricKey(data: bytes))).base64EncodedString()
    }
}
