import CLinux

/// A scheduler that starts the write-back of a long file while it is still being written. So the final sync has little
/// left to do.
///
/// It is only a hint. Durability depends on the sync, and only the sync reports errors: without waiting,
/// `sync_file_range(2)` leaves them to it. Systems without that call write back when they choose to.
package struct EarlyWriteback: Sendable {
    /// Larger steps leave more work for the final sync. Smaller ones cost more calls.
    static let step: Int64 = 8 << 20

    private var end: Int64 = 0

    /// Creates the scheduler for a file whose first `byteCount` bytes are on the device or already being written back.
    package init(from byteCount: Int64 = 0) {
        end = byteCount
    }

    /// Returns the range to write back now that the file has this many bytes without gaps. Returns nil while the range
    /// is too small for a call.
    package mutating func next(_ byteCount: Int64) -> Range<Int64>? {
        guard byteCount - end >= Self.step else { return nil }
        defer { end = byteCount }
        return end..<byteCount
    }
}

extension Descriptor {
    /// Starts the write-back of a range for ``EarlyWriteback``. May block the thread while the device is busy.
    package func beginWriteback(_ range: Range<Int64>) {
        #if !canImport(Darwin)
        _ = lfs_begin_writeback(raw, range.lowerBound, range.upperBound - range.lowerBound)
        #endif
    }
}
