#if canImport(Glibc)
package import Glibc
#elseif canImport(Musl)
package import Musl
#else
package import Darwin
#endif

/// Support for files with holes: ranges that read as zeros and use no disk space.
package enum SparseFile {
    /// The size of a block that becomes a hole if it contains only zeros. Smaller blocks would split a file into many
    /// extents.
    package static let blockSize = 64 << 10
    /// The most data ranges to count. For a file with more of them, the estimate is its size.
    private static let mostPieces = 4_096

    #if os(Linux)
    // The C library defines these only together with its extensions: lseek(2).
    private static let seekData: Int32 = 3
    private static let seekHole: Int32 = 4
    #else
    private static let seekData = SEEK_DATA
    private static let seekHole = SEEK_HOLE
    #endif

    /// Returns true if an open file uses less disk space than its size. This is also the case on a file system that
    /// compresses.
    package static func isSparse(_ number: Int32) -> Bool {
        var status = stat()
        guard fstat(number, &status) == 0 else { return false }
        return isSparse(status)
    }

    /// Returns the same for the result of a `stat` call.
    package static func isSparse(_ status: stat) -> Bool {
        // The unit of st_blocks is 512 bytes, regardless of st_blksize. POSIX.1-2024 (sys_stat.h) leaves it open, but
        // the documentation of Linux and Darwin states it.
        Int64(status.st_size) >= Int64(blockSize) && Int64(status.st_blocks) < Int64(status.st_size) / 512
    }

    /// Returns how many bytes of an open file are data rather than holes, or the file's size if the system reports no
    /// holes.
    ///
    /// Use it only to estimate disk space: some file systems have reported data as holes (openzfs/zfs #15526).
    package static func dataByteCount(_ number: Int32, size: Int64) -> Int64 {
        let position = lseek(number, 0, SEEK_CUR)
        defer { if position >= 0 { _ = lseek(number, position, SEEK_SET) } }
        var (count, offset) = (Int64(0), Int64(0))
        for _ in 0..<mostPieces {
            let data = Int64(lseek(number, off_t(offset), seekData))
            // The rest of the file is a hole.
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
    /// After a hole at the end, the file is too short until ``truncate(to:)`` sets its size.
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
    /// True if every byte is zero.
    fileprivate var isZero: Bool {
        guard let start = baseAddress, count > 0, self[0] == 0 else { return isEmpty }
        // Each byte equals the one before it, and the first one is zero.
        return memcmp(start, start + 1, count - 1) == 0
    }

    /// Returns the longest prefix of blocks that all meet the condition.
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
