import Crypto
import Foundation
import LFSHTTP
import LFSHTTPStorage
import LFSStorage

/// Signs a request to one blob for somebody else to send: a shared access signature, as the query of its URL.
///
/// Sources: "Create a service SAS" and "Create a user delegation SAS" of the REST reference. Only the latter binds
/// header fields (`srh`) and query parameters (`srq`), from version 2026-04-06 on.
struct AccessSignature: Sendable {
    /// `r`, `w`, or `c`: to make what is not there.
    let permission: String
    /// As ``AzurePlace/signedName(of:)`` has it.
    let name: String
    let end: Date
    /// Whether the request has to come encrypted.
    let requiresTLS: Bool
    /// What a user delegation key binds: names in lowercase.
    var headers: [(name: String, value: String)] = []
    /// What a user delegation key binds: not encoded.
    var query: [(name: String, value: String)] = []

    static let delegatedVersion = "2026-04-06"
    static let keyVersion = "2023-11-03"

    /// By the account's key. The blob, the permission and the time are bound, and nothing else.
    ///
    /// - Parameter key: in base64.
    /// - Throws: ``StorageError/Code/unauthorized``.
    func text(key: String) throws(StorageError) -> String {
        let fields = common(Self.keyVersion)
        // No stored policy, no address; no snapshot, no encryption scope.
        let lines = times + [name, "", "", scheme, Self.keyVersion, "b", "", ""] + replyFields
        return Self.joined(fields, try Self.code(lines, key))
    }

    /// By a user delegation key: header fields and query parameters are bound, too.
    ///
    /// - Throws: ``StorageError/Code/unauthorized`` for a key that is none.
    func text(_ key: DelegationKey) throws(StorageError) -> String {
        var fields = common(Self.delegatedVersion) + key.fields
        if !headers.isEmpty { fields.append(("srh", headers.map(\.name).joined(separator: ","))) }
        if !query.isEmpty { fields.append(("srq", query.map(\.name).joined(separator: ","))) }
        var lines = times + [name] + key.fields.map(\.value)
        // No other authorized or checked user, no correlation id, no tenant and no user of the one who sends it.
        lines += [String](repeating: "", count: 5)
        lines += ["", scheme, Self.delegatedVersion, "b", "", ""]
        lines.append(headers.map { "\($0.name):\($0.value)\n" }.joined())
        lines.append(query.map { "\n\($0.name):\($0.value)" }.joined())
        lines += replyFields
        return Self.joined(fields, try Self.code(lines, key.value))
    }

    /// What the reply to a GET has as `Content-Disposition`: a browser saves the object. A page among the objects would
    /// run as one of the container's own otherwise.
    private var disposition: String { permission == "r" ? "attachment" : "" }
    /// `rscc`, `rscd`, `rsce`, `rscl` and `rsct`.
    private var replyFields: [String] { ["", disposition, "", "", ""] }

    private var times: [String] { [permission, "", UTCTime(end).signatureText] }
    private var scheme: String { requiresTLS ? "https" : "" }

    private func common(_ version: String) -> [(name: String, value: String)] {
        var fields = [("sp", permission), ("se", UTCTime(end).signatureText), ("sv", version), ("sr", "b")]
        if requiresTLS { fields.append(("spr", scheme)) }
        if !disposition.isEmpty { fields.append(("rscd", disposition)) }
        return fields.map { (name: $0.0, value: $0.1) }
    }

    private static func joined(_ fields: [(name: String, value: String)], _ code: String) -> String {
        (fields + [("sig", code)]).map { "\($0.name)=\(PercentEncoding.query($0.value))" }.joined(separator: "&")
    }

    private static func code(_ lines: [String], _ key: String) throws(StorageError) -> String {
        guard let bytes = Data(base64Encoded: key), !bytes.isEmpty else {
            throw StorageError(.unauthorized, "The key to sign with is not base64: copy it anew.")
        }
        let text = Data(lines.joined(separator: "\n").utf8)
        return Data(HMAC<SHA256>.authenticationCode(for: text, using: SymmetricKey(data: bytes))).base64EncodedString()
    }
}
