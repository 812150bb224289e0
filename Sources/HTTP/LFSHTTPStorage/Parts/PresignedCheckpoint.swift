package import LFSStorage

/// The checkpoint of an upload whose single request was signed for another program. The object may exist, so the
/// upload asks for it before it sends the bytes.
package struct PresignedCheckpoint: Codable, Hashable, Sendable {
    private var isPresigned = true

    package init() {}
}

extension UploadSession {
    /// True if an earlier attempt has signed its single request, so another program may have sent the bytes.
    package var wasPresigned: Bool {
        let presigned: PresignedCheckpoint? = checkpoint?.decoded()
        return presigned != nil
    }
}
