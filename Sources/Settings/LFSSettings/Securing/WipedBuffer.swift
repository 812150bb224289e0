import Foundation

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A memory buffer for a secret, which is overwritten before it is freed.
enum WipedBuffer {
    static func with<Result>(_ bytes: Data, _ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: max(bytes.count, 1), alignment: 1)
        defer {
            wipe(buffer)
            buffer.deallocate()
        }
        bytes.copyBytes(to: buffer)
        return try body(UnsafeRawBufferPointer(rebasing: buffer.prefix(bytes.count)))
    }

    /// Overwrites the buffer with functions that a compiler does not optimize away: explicit_bzero(3), memset_s(3).
    private static func wipe(_ buffer: UnsafeMutableRawBufferPointer) {
        guard let start = buffer.baseAddress else { return }
        #if canImport(Darwin)
        memset_s(start, buffer.count, 0, buffer.count)
        #else
        explicit_bzero(start, buffer.count)
        #endif
    }
}
