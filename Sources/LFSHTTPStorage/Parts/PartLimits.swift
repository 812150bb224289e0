/// What a storage allows for the parts of an upload.
package struct PartLimits: Hashable, Sendable {
    /// How many there may be.
    package var maximumCount: Int
    /// The smallest but the last, in bytes.
    package var minimumSize: Int64
    /// The largest, in bytes: whole MiB.
    package var maximumSize: Int64

    package init(maximumCount: Int, minimumSize: Int64, maximumSize: Int64) {
        self.maximumCount = maximumCount
        self.minimumSize = minimumSize
        self.maximumSize = maximumSize
    }
}
