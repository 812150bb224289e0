import Foundation
import LFSHTTP
package import LFSHTTPStorage
package import LFSStorage

/// Requests for others to send.
///
/// With a token, length, content and condition are bound by a user delegation key. With the account's key the blob, the
/// permission and the time are, so that what came has to be looked at afterwards.
extension AzureStorage {
    /// Whether requests are signed with what binds their bytes.
    ///
    /// - Throws: `StorageError`.
    package func bindsContent() async throws -> Bool {
        try await translatingFailures(nil) {
            if case .token = try await client.login().kind { true } else { false }
        }
    }

    /// Asks for what signs requests now, so that a server shows at its start what is missing.
    ///
    /// - Throws: `StorageError.Code.unauthorized` for credentials that cannot sign, `forbidden` where a role is
    ///   missing.
    public func requireSigning() async throws {
        try await translatingFailures(nil) {
            switch try await client.login().kind {
            case .key: try await client.requireCredentials()
            case .token: _ = try await delegationKeys.credentials()
            case .signature: throw Self.cannotSign
            }
        }
    }

    /// A PUT of an object.
    ///
    /// - Parameters:
    ///   - bytes: with their MD5, which is what the service compares.
    ///   - replaces: whether there may be one already.
    /// - Throws: `StorageError`.
    package func presignedUpload(
        of bytes: AnnouncedBytes, to key: ObjectKey, replaces: Bool, expires: Duration
    ) async throws -> PresignedRequest {
        try await translatingFailures(key) {
            var headers = try BlobFields(accessTier: options.accessTier).make(
                contentType: bytes.contentType, sha256: bytes.sha256)
            try headers.set("x-ms-blob-type", "BlockBlob")
            try headers.set("content-length", String(bytes.byteCount))
            let md5 = try Self.md5(bytes, key)
            try headers.set("x-ms-blob-content-md5", md5)
            if !replaces { try headers.set("if-none-match", "*") }
            return try await signed(key, replaces ? "w" : "c", [], headers, md5, expires)
        }
    }

    /// A PUT of a block.
    ///
    /// - Parameters:
    ///   - bytes: of the block, with their MD5.
    ///   - sha256: of the object that it becomes a part of, in hex.
    /// - Throws: `StorageError`.
    package func presignedBlock(
        _ number: Int, _ bytes: AnnouncedBytes, of sha256: String, to key: ObjectKey, expires: Duration
    ) async throws -> PresignedRequest {
        try await translatingFailures(key) {
            guard let id = SignedBlockID(md5: bytes.md5, number: number, of: sha256) else {
                throw StorageError(.invalidRequest, "A block is announced with its MD5.", key: key)
            }
            let md5 = try Self.md5(bytes, key)
            var headers = HTTPHeaders()
            try headers.set("content-length", String(bytes.byteCount))
            try headers.set("content-md5", md5)
            return try await signed(
                key, "w", [("comp", "block"), ("blockid", id.text)], headers, md5, expires)
        }
    }

    /// A GET of an object. Its ranges and conditions are not signed.
    ///
    /// - Throws: `StorageError`.
    package func presignedDownload(of key: ObjectKey, expires: Duration) async throws -> PresignedRequest {
        try await translatingFailures(key) { try await signed(key, "r", [], [:], nil, expires) }
    }

    private static var cannotSign: StorageError {
        StorageError(
            .unauthorized, "With a shared access signature nothing is signed for others: use a token or a key.")
    }

    private static func md5(_ bytes: AnnouncedBytes, _ key: ObjectKey) throws(StorageError) -> String {
        guard let md5 = bytes.md5.flatMap({ Base64.text(hex: $0) }) else {
            throw StorageError(.invalidRequest, "Bytes for Azure are announced with their MD5.", key: key)
        }
        return md5
    }

    /// - Parameter md5: what the reply has to say in `content-md5`, by the service's own computing.
    private func signed(
        _ key: ObjectKey, _ permission: String, _ query: [(name: String, value: String)], _ headers: HTTPHeaders,
        _ md5: String?, _ expires: Duration
    ) async throws -> PresignedRequest {
        let place = client.place
        let login = try await client.login()
        let lifetime: Duration
        if case .token = login.kind {
            lifetime = min(expires, DelegationKey.longestSignature)
        } else {
            lifetime = expires
        }
        let fields = headers.fields.map { (name: $0.name, value: $0.value) }
        let signature = AccessSignature(
            permission: permission, name: place.signedName(of: key),
            end: client.now.addingTimeInterval(lifetime / .seconds(1)), requiresTLS: place.origin.isSecure,
            headers: fields, query: query)
        let text: String
        var proof: PresignedRequest.Proof?
        switch login.kind {
        case .token:
            text = try signature.text(try await delegationKeys.credentials())
            proof = md5.map { .init(header: "content-md5", value: $0) }
        case .key(let accountKey): text = try signature.text(key: accountKey)
        case .signature: throw Self.cannotSign
        }
        let parameters = query.map { "\($0.name)=\(PercentEncoding.query($0.value))" } + [text]
        return PresignedRequest(
            url: "\(place.origin)\(place.path(of: key))?\(parameters.joined(separator: "&"))",
            headers: Dictionary(fields.map { ($0.name, $0.value) }) { first, _ in first }, proof: proof,
            lifetime: lifetime)
    }
}
