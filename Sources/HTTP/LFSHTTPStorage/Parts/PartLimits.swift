/// The limits of a storage for multipart uploads.
package struct PartLimits: Hashable, Sendable {
    /// The maximum number of parts.
    package var maximumCount: Int
    /// The minimum size in bytes of every part except the last.
    package var minimumSize: Int64
    /// The maximum size of a part in bytes, a multiple of 1 MiB.
    package var maximumSize: Int64

    package init(maximumCount: Int, minimumSize: Int64, maximumSize: Int64) {
        self.maximumCount = maximumCount
        self.minimumSize = minimumSize
        self.maximumSize = maximumSize
    }
}
