/// A file of which a device says that the storage has it.
public struct SyncFile: Sendable, Hashable {
    /// Of the object, below whatever the storage puts before it.
    public let key: String
    public let byteCount: Int64
    /// In lowercase hexadecimal.
    public let sha256: String
    /// Where the device says that it is; nil when it does not say.
    public let url: String?
}
