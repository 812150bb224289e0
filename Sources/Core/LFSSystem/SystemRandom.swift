#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The system's random number generator, which is suitable for keys. The standard library calls it once for every eight
/// bytes.
package enum SystemRandom {
    /// Fills the buffer with random bytes.
    ///
    /// Source: on Linux, `getentropy` returns up to 256 bytes per call, getentropy(3).
    package static func fill(_ bytes: UnsafeMutableRawBufferPointer) {
        #if canImport(Darwin)
        if let start = bytes.baseAddress { arc4random_buf(start, bytes.count) }
        #else
        var rest = bytes[...]
        while !rest.isEmpty {
            let piece = UnsafeMutableRawBufferPointer(rebasing: rest.prefix(256))
            if getentropy(piece.baseAddress!, piece.count) != 0 { fillSlowly(piece) }
            rest = rest.dropFirst(piece.count)
        }
        #endif
    }

    /// Fills the buffer on a kernel without that call.
    private static func fillSlowly(_ bytes: UnsafeMutableRawBufferPointer) {
        var generator = SystemRandomNumberGenerator()
        for index in bytes.indices { bytes[index] = generator.next() }
    }
}

/// A buffer of random numbers, which fetches many at once. A forked process that does not call `exec` returns the same
/// numbers as its parent.
struct RandomWords: ~Copyable {
    private var words: [UInt64] = []

    mutating func next() -> UInt64 {
        if words.isEmpty {
            words = [UInt64](unsafeUninitializedCapacity: 32) { buffer, count in
                SystemRandom.fill(UnsafeMutableRawBufferPointer(buffer))
                count = buffer.count
            }
        }
        return words.removeLast()
    }
}
