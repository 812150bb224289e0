#if canImport(Glibc)
package import Glibc
#elseif canImport(Musl)
package import Musl
#else
package import Darwin
#endif

/// Files with holes: ranges that read as zeros and take no room on the disk.
package enum SparseFile {
    /// The size of the blocks that become holes when they are all zeros. Smaller ones would break a file into many
    /// extents.
    package static let blockSize = 64 << 10
    /// A file with more pieces of data is measured by its size.
    private static let mostPieces = 4_096

    #if os(Linux)
    // The C library names them for its own extensions only: lseek(2).
    private static let seekData: Int32 = 3
    private static let seekHole: Int32 = 4
    #else
    private static let seekData = SEEK_DATA
    private static let seekHole = SEEK_HOLE
    #endif

    /// Whether an open file takes less room than its size. A file system that compresses reports the same.
    package static func isSparse(_ number: Int32) -> Bool {
        var status = stat()
        guard fstat(number, &status) == 0 else { return false }
        return isSparse(status)
    }

    /// The same of what `stat` has reported.
    package static func isSparse(_ status: stat) -> Bool {
        // The unit of st_blocks is 512 bytes, whatever st_blksize is: sys_stat.h of POSIX.1-2024 leaves it open, Linux
        // and Darwin say so.
        Int64(status.st_size) >= Int64(blockSize) && Int64(status.st_blocks) < Int64(status.st_size) / 512
    }

    /// Returns how many bytes of an open file are data, and not holes. Its size where the system does not know.
    ///
    /// Only good for an estimate of room: some file systems have reported data as holes (openzfs/zfs #15526).
    package static func dataByteCount(_ number: Int32, size: Int64) -> Int64 {
        let position = lseek(number, 0, SEEK_CUR)
        defer { if position >= 0 { _ = lseek(number, position, SEEK_SET) } }
        var (count, offset) = (Int64(0), Int64(0))
        for _ in 0..<mostPieces {
            let data = Int64(lseek(number, off_t(offset), seekData))
            // No data from here on.
            if data < 0, errno == ENXIO { return count }
            let hole = data < 0 ? -1 : Int64(lseek(number, off_t(data), seekHole))
            guard data >= offset, hole > data else { return size }
            count += hole - data
            offset = hole
        }
        return size
    }
}

extension Descriptor {
    /// Writes all of the bytes at the current position, and leaves a hole for each block of zeros.
    ///
    /// A hole at the end is none before ``truncate(to:)``: the file is too short until then.
    package func writeSparsely(_ bytes: UnsafeRawBufferPointer) throws(SystemError) {
        var rest = bytes
        while !rest.isEmpty {
            let data = rest.prefixOfBlocks(where: { !$0.isZero })
            try write(data)
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(data.count))
            let zeros = rest.prefixOfBlocks(where: \.isZero)
            if !zeros.isEmpty { try checked("lseek", path) { lseek(raw, off_t(zeros.count), SEEK_CUR) } }
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(zeros.count))
        }
    }
}

extension UnsafeRawBufferPointer {
    /// Whether every byte is zero.
    fileprivate var isZero: Bool {
        guard let start = baseAddress, count > 0, self[0] == 0 else { return isEmpty }
        // Each byte equals the one before it, and the first one is zero.
        return memcmp(start, start + 1, count - 1) == 0
    }

    /// The longest beginning whose blocks all meet a condition.
    fileprivate func prefixOfBlocks(where isWanted: (UnsafeRawBufferPointer) -> Bool) -> UnsafeRawBufferPointer {
        var end = 0
        while end < count {
            let next = Swift.min(end + SparseFile.blockSize, count)
            guard isWanted(UnsafeRawBufferPointer(rebasing: self[end..<next])) else { break }
            end = next
        }
        return UnsafeRawBufferPointer(rebasing: self[..<end])
    }
}
