/// A file that a device reports as uploaded.
package struct SyncFile: Sendable, Hashable {
    /// The key of the object, without any prefix of the storage.
    package let key: String
    /// The size of the object in bytes.
    package let byteCount: Int64
    /// The SHA-256 in lowercase hexadecimal.
    package let sha256: String
    /// The object's URL according to the device, or nil if the device reports none.
    package let url: String?
}
