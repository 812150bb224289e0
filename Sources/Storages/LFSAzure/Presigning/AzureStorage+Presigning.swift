public import Foundation
import LFSHTTP
package import LFSHTTPStorage
public import LFSStorage

/// Presigned requests for other clients.
///
/// With a token, a user delegation key signs length, content and condition. With the account's key, the signature only
/// covers the blob, the permission and the time. The upload must then be examined afterwards.
extension AzureStorage {
    /// Returns true if the signature of a request covers its bytes.
    ///
    /// - Throws: `StorageError`.
    package func bindsContent() async throws -> Bool {
        try await translatingFailures(nil) {
            if case .token = try await client.login().kind { true } else { false }
        }
    }

    /// Requests the signing key now, so that a server reports a missing one when it starts.
    ///
    /// - Throws: `StorageError.Code.unauthorized` for credentials that cannot sign, and `forbidden` if a role is
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

    /// Returns a PUT of an object.
    ///
    /// - Parameters:
    ///   - bytes: the announced bytes with their MD5, which the service compares.
    ///   - replaces: true if the key may already have an object.
    /// - Throws: `StorageError`.
    package func presignedUpload(
        of bytes: DeclaredContent, to key: ObjectKey, replaces: Bool, expires: Duration
    ) async throws -> PresignedRequest {
        try await translatingFailures(key) {
            var headers = try BlobFields(accessTier: options.accessTier).make(
                contentType: bytes.contentType, sha256: bytes.sha256)
            try headers.set("x-ms-blob-type", value: "BlockBlob")
            try headers.set("content-length", value: String(bytes.byteCount))
            let md5 = try Self.md5(bytes, key: key)
            try headers.set("x-ms-blob-content-md5", value: md5)
            if !replaces { try headers.set("if-none-match", value: "*") }
            return try await signed(
                key, permission: replaces ? "w" : "c", query: [], headers: headers, md5: md5, expires: expires)
        }
    }

    /// Returns a PUT of a block.
    ///
    /// - Parameters:
    ///   - bytes: the announced bytes of the block with their MD5.
    ///   - sha256: the SHA-256 of the whole object, in hex.
    /// - Throws: `StorageError`.
    package func presignedBlock(
        _ number: Int, bytes: DeclaredContent, of sha256: String, to key: ObjectKey, expires: Duration
    ) async throws -> PresignedRequest {
        try await translatingFailures(key) {
            guard let id = SignedBlockID(md5: bytes.md5, number: number, of: sha256) else {
                throw StorageError(.invalidRequest, message: "The request for a block needs its MD5.", key: key)
            }
            let md5 = try Self.md5(bytes, key: key)
            var headers = HTTPHeaders()
            try headers.set("content-length", value: String(bytes.byteCount))
            try headers.set("content-md5", value: md5)
            return try await signed(
                key, permission: "w", query: [("comp", "block"), ("blockid", id.text)], headers: headers, md5: md5,
                expires: expires)
        }
    }

    /// Returns a GET of an object. Ranges and conditions are not signed, so the client may add them.
    ///
    /// - Throws: `StorageError`.
    package func presignedDownload(of key: ObjectKey, expires: Duration) async throws -> PresignedRequest {
        try await translatingFailures(key) {
            try await signed(key, permission: "r", query: [], headers: [:], md5: nil, expires: expires)
        }
    }

    /// Returns a URL with which anyone can download an object for 1 second to 7 days. The URL is a secret: do not store
    /// or log it.
    ///
    /// A browser saves the file instead of showing it. Otherwise an HTML page among the objects would run with the
    /// origin of the container. The URL still works as the source of an image.
    ///
    /// - Throws: `StorageError.Code.invalidRequest` for another time span, and `unauthorized` for a shared access
    ///   signature, which cannot sign URLs.
    public func downloadURL(for key: ObjectKey, expires: Duration) async throws -> URL {
        guard (.seconds(1)...(.seconds(604_800))).contains(expires) else {
            throw StorageError(.invalidRequest, message: "A signed URL must be valid for 1 second to 7 days.", key: key)
        }
        let text = try await presignedDownload(of: key, expires: expires).url
        guard let url = URL(string: text) else {
            throw StorageError(.invalidKey, message: "The key cannot be written in a URL.", key: key)
        }
        return url
    }

    private static var cannotSign: StorageError {
        StorageError(
            .unauthorized, message: "A shared access signature cannot sign URLs for others: use a token or a key."
        )
    }

    private static func md5(_ bytes: DeclaredContent, key: ObjectKey) throws(StorageError) -> String {
        guard let md5 = bytes.md5.flatMap({ Base64.text(hex: $0) }) else {
            throw StorageError(.invalidRequest, message: "The request for an upload to Azure needs the MD5.", key: key)
        }
        return md5
    }

    /// - Parameter md5: the MD5 that the reply must contain in `content-md5`, computed by the service.
    private func signed(
        _ key: ObjectKey, permission: String, query: [(name: String, value: String)], headers: HTTPHeaders,
        md5: String?, expires: Duration
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
            headers: headers.byName, proof: proof, lifetime: lifetime)
    }
}
