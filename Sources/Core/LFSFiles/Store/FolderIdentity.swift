import LFSSystem

/// An identifier that distinguishes a folder from its copies, as long as its file system stays mounted with the same
/// device number.
struct FolderIdentity: Codable, Hashable, Sendable {
    let device: UInt64
    let inode: UInt64

    init(_ status: FileStatus) {
        device = status.device
        inode = status.inode
    }
}
