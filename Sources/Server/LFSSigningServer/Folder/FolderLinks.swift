import Foundation
import LFSHTTPStorage
import LFSStorage
import LFSSystem

/// The permission of one of the server's own URLs: one method on one object or part, with a length and a content.
struct FolderPermit: Hashable, Sendable {
    enum Purpose: Hashable, Sendable {
        case get
        case put(byteCount: Int64, sha256: String, replaces: Bool)
        case part(Int, upload: String, byteCount: Int64, sha256: String)
    }

    let key: ObjectKey
    let purpose: Purpose
    /// The hash of the caller who received the URL and whose budget pays for the body. Nil in URLs of older servers.
    var caller: String?
}

/// A signer and parser of the server's own URLs: `<base>/bytes/<key>?…&signature=…`. The signature is an HMAC over the
/// method, the key and the query as it is written.
struct FolderLinks: Sendable {
    let publicURL: URL
    let secret: SigningSecret
    let now: @Sendable () -> Date

    private static let purpose = "lfs bytes 1"

    func url(for permit: FolderPermit, expires: Duration) -> String {
        let last = Int64(now().timeIntervalSince1970) + expires.components.seconds
        var items = ["expires=\(last)"]
        switch permit.purpose {
        case .get: break
        case .put(let byteCount, let sha256, let replaces):
            items += ["length=\(byteCount)", "sha256=\(sha256)", "create=\(replaces ? 0 : 1)"]
        case .part(let number, let upload, let byteCount, let sha256):
            items += ["length=\(byteCount)", "sha256=\(sha256)", "part=\(number)", "upload=\(upload)"]
        }
        if let caller = permit.caller { items.append("by=\(caller)") }
        let query = items.joined(separator: "&")
        let code = secret.code(Self.purpose, lines: [permit.method, permit.key.rawValue, query])
        var base = publicURL.absoluteString
        while base.hasSuffix("/") { base.removeLast() }
        return "\(base)/bytes/\(permit.key)?\(query)&signature=\(code)"
    }

    /// Returns the signature at the end of a query with a valid permit.
    static func signature(of query: String) -> String {
        query.range(of: "&signature=", options: .backwards).map { String(query[$0.upperBound...]) } ?? ""
    }

    /// Returns the permit of a request, or nil if its signature is invalid or it has expired.
    func permit(method: String, key: String, query: String) -> FolderPermit? {
        guard query.utf8.count <= 1_024, let mark = query.range(of: "&signature=", options: .backwards) else {
            return nil
        }
        let (signed, code) = (String(query[..<mark.lowerBound]), String(query[mark.upperBound...]))
        guard secret.isCode(code, purpose: Self.purpose, lines: [method, key, signed]), let key = ObjectKey(listed: key)
        else {
            return nil
        }
        // The server itself wrote the query, so no name occurs twice.
        let items = Dictionary(
            signed.split(separator: "&").map { item in
                let pair = item.split(separator: "=", maxSplits: 1).map(String.init)
                return (pair[0], pair.count > 1 ? pair[1] : "")
            }
        ) { first, _ in first }
        guard let last = items["expires"].flatMap(Int64.init), now().timeIntervalSince1970 < Double(last) else {
            return nil
        }
        let caller = items["by"]
        guard method == "PUT" else {
            return method == "GET" ? FolderPermit(key: key, purpose: .get, caller: caller) : nil
        }
        guard let byteCount = items["length"].flatMap(Int64.init), let sha256 = items["sha256"] else { return nil }
        if let number = items["part"].flatMap(Int.init), let upload = items["upload"] {
            return FolderPermit(
                key: key, purpose: .part(number, upload: upload, byteCount: byteCount, sha256: sha256),
                caller: caller)
        }
        guard let create = items["create"] else { return nil }
        return FolderPermit(
            key: key, purpose: .put(byteCount: byteCount, sha256: sha256, replaces: create == "0"), caller: caller)
    }
}

extension FolderPermit {
    fileprivate var method: String { if case .get = purpose { "GET" } else { "PUT" } }
}
