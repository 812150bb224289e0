import LFSHTTPStorage
import LFSStorage
import LFSWire

/// A signer of the server's own URLs, for one caller.
struct FolderSigner: ActionSigner {
    /// The header field of a reply with the SHA-256 of the received bytes in hex.
    static let proofField = "x-lfs-sha256"

    let links: FolderLinks
    /// The hash of the caller.
    var caller: String?

    func upload(_ order: UploadOrder, expires: Duration) async throws -> SigningAction {
        let permit = FolderPermit(
            key: order.key,
            purpose: .put(
                byteCount: order.bytes.byteCount, sha256: order.bytes.sha256, replaces: order.replaces),
            caller: caller)
        return put(permit, bytes: order.bytes, expires: expires)
    }

    func part(
        _ number: Int, of ticket: UploadTicket, bytes: DeclaredContent, expires: Duration
    ) async throws -> SigningAction {
        let purpose = FolderPermit.Purpose.part(
            number, upload: ticket.upload, byteCount: bytes.byteCount, sha256: bytes.sha256)
        return put(FolderPermit(key: ticket.key, purpose: purpose, caller: caller), bytes: bytes, expires: expires)
    }

    func download(_ key: ObjectKey, expires: Duration) async throws -> SigningAction {
        let href = links.url(for: FolderPermit(key: key, purpose: .get, caller: caller), expires: expires)
        return SigningAction(method: "GET", href: href, expiresIn: expires.components.seconds)
    }

    private func put(_ permit: FolderPermit, bytes: DeclaredContent, expires: Duration) -> SigningAction {
        SigningAction(
            method: "PUT", href: links.url(for: permit, expires: expires),
            header: ["content-length": String(bytes.byteCount)], expiresIn: expires.components.seconds,
            proof: .init(header: Self.proofField, value: bytes.sha256))
    }
}
