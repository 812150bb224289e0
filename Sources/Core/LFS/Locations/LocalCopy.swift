import LFSSystem

/// A file in the local store, in a compact form because there may be a million of them.
struct LocalCopy: Sendable {
    let bits: FileID.Bits
    let byteCount: Int64
    /// Milliseconds since 1970.
    let lastUse: Int64

    var id: FileID { FileID(bits) }
}
