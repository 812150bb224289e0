#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// `write` of the system's C library, whichever that is. Returns -1 with `errno` when it fails; it may take fewer
/// bytes.
func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
    write(descriptor, bytes.baseAddress, bytes.count)
}

/// Writes all of the bytes. Returns false with `errno` when it fails.
func systemWriteAll(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Bool {
    var rest = bytes
    while !rest.isEmpty {
        let count = systemWrite(descriptor, rest)
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { return false }
        rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
    }
    return true
}

/// Writes all of the bytes at the current position, and leaves a hole for each block of zeros, since no row says
/// whether the original had holes. Returns false with `errno` when it fails. A hole at the end needs `ftruncate`.
func systemWriteSparsely(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Bool {
    let blockSize = 64 << 10
    var offset = 0
    while offset < bytes.count {
        let block = UnsafeRawBufferPointer(rebasing: bytes[offset..<min(offset + blockSize, bytes.count)])
        if let start = block.baseAddress, block.count == blockSize, block[0] == 0,
            memcmp(start, start + 1, blockSize - 1) == 0
        {
            // Each byte equals the one before it, and the first one is zero.
            guard lseek(descriptor, off_t(blockSize), SEEK_CUR) >= 0 else { return false }
        } else {
            guard systemWriteAll(descriptor, block) else { return false }
        }
        offset += block.count
    }
    return true
}
