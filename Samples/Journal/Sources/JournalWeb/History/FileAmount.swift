import LFS

/// A number of files and the sum of their sizes.
struct FileAmount: Hashable, Sendable {
    var files = 0
    var byteCount: Int64 = 0

    init(files: Int = 0, byteCount: Int64 = 0) {
        self.files = files
        self.byteCount = byteCount
    }

    init(_ amount: EvictionReport.Amount) {
        files = amount.files
        byteCount = amount.byteCount
    }

    /// Adds a file. A row may have any size, so the sum may wrap around.
    mutating func add(_ count: Int64) {
        files += 1
        byteCount &+= count
    }

    /// The difference, which is not negative: both sides are counted at different times.
    func subtracting(_ other: FileAmount) -> FileAmount {
        FileAmount(files: max(0, files - other.files), byteCount: max(0, byteCount - other.byteCount))
    }
}
