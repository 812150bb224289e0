import CLinux

/// Has the device take a long file while it is still being written, so that the sync at its end finds little left to
/// do.
///
/// It is a hint: what counts is the sync, and only that tells of errors (`sync_file_range(2)` leaves them to it when it
/// does not wait). Systems without that call write when they see fit.
package struct EarlyWriteback: Sendable {
    /// Larger pieces leave more to the end, smaller ones cost calls.
    static let step: Int64 = 8 << 20

    private var end: Int64 = 0

    /// Of a file that has this many bytes on the device or on their way there.
    package init(from byteCount: Int64 = 0) {
        end = byteCount
    }

    /// What is to be begun now that the file has this many bytes, without gaps; nil as long as it is not worth a call.
    package mutating func next(_ byteCount: Int64) -> Range<Int64>? {
        guard byteCount - end >= Self.step else { return nil }
        defer { end = byteCount }
        return end..<byteCount
    }
}

extension Descriptor {
    /// See ``EarlyWriteback``. May block the thread while the device is busy.
    package func beginWriteback(_ range: Range<Int64>) {
        #if !canImport(Darwin)
        _ = lfs_begin_writeback(raw, range.lowerBound, range.upperBound - range.lowerBound)
        #endif
    }
}
