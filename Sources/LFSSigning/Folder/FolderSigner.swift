import LFSHTTPStorage
import LFSStorage
import LFSWire

/// A signer of the server's own URLs, for one caller.
struct FolderSigner: ActionSigner {
    /// The field of a reply that shows what was taken: the SHA-256 in hex.
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
        return put(permit, order.bytes, expires)
    }

    func part(
        _ number: Int, of ticket: UploadTicket, _ bytes: AnnouncedBytes, expires: Duration
    ) async throws -> SigningAction {
        let purpose = FolderPermit.Purpose.part(
            number, upload: ticket.upload, byteCount: bytes.byteCount, sha256: bytes.sha256)
        return put(FolderPermit(key: ticket.key, purpose: purpose, caller: caller), bytes, expires)
    }

    func download(_ key: ObjectKey, expires: Duration) async throws -> SigningAction {
        let href = links.url(for: FolderPermit(key: key, purpose: .get, caller: caller), expires: expires)
        return SigningAction(method: "GET", href: href, expiresIn: expires.components.seconds)
    }

    private func put(_ permit: FolderPermit, _ bytes: AnnouncedBytes, _ expires: Duration) -> SigningAction {
        SigningAction(
            method: "PUT", href: links.url(for: permit, expires: expires),
            header: ["content-length": String(bytes.byteCount)], expiresIn: expires.components.seconds,
            proof: .init(header: Self.proofField, value: bytes.sha256))
    }
}
