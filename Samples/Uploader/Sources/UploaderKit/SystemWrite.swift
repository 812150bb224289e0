#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Calls `write` of the system's C library. Returns -1 with `errno` set on failure. It may write only a part of the
/// bytes.
func systemWrite(_ descriptor: Int32, bytes: UnsafeRawBufferPointer) -> Int {
    write(descriptor, bytes.baseAddress, bytes.count)
}

/// Writes all bytes. Returns false with `errno` set on failure.
func systemWriteAll(_ descriptor: Int32, bytes: UnsafeRawBufferPointer) -> Bool {
    var rest = bytes
    while !rest.isEmpty {
        let count = systemWrite(descriptor, bytes: rest)
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { return false }
        rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
    }
    return true
}

/// Writes all bytes at the current position, with a hole in place of each block of zeros. The rows do not record
/// whether the original was sparse. Returns false with `errno` set on failure. A hole at the end requires `ftruncate`.
func systemWriteSparsely(_ descriptor: Int32, bytes: UnsafeRawBufferPointer) -> Bool {
    let blockSize = 64 << 10
    var offset = 0
    while offset < bytes.count {
        let block = UnsafeRawBufferPointer(rebasing: bytes[offset..<min(offset + blockSize, bytes.count)])
        if let start = block.baseAddress, block.count == blockSize, block[0] == 0,
            memcmp(start, start + 1, blockSize - 1) == 0
        {
            // Each byte equals the previous one, and the first one is zero.
            guard lseek(descriptor, off_t(blockSize), SEEK_CUR) >= 0 else { return false }
        } else {
            guard systemWriteAll(descriptor, bytes: block) else { return false }
        }
        offset += block.count
    }
    return true
}
