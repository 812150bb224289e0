#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The system's generator, fit for keys. The standard library asks it anew for each eight bytes.
package enum SystemRandom {
    /// Fills the bytes.
    ///
    /// Source: `getentropy` of Linux and its C libraries gives up to 256 bytes a call, getentropy(3).
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

    /// For a kernel that has no such call.
    private static func fillSlowly(_ bytes: UnsafeMutableRawBufferPointer) {
        var generator = SystemRandomNumberGenerator()
        for index in bytes.indices { bytes[index] = generator.next() }
    }
}

/// Random numbers of which many are fetched at once. A process that is forked, and is no other program then, has the
/// same ones.
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
