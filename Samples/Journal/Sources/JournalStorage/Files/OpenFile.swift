import Foundation

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// An open file, closed when nobody has it any more.
final class OpenFile: Sendable {
    static let chunkSize = 256 << 10
    let descriptor: Int32

    init(_ descriptor: Int32) { self.descriptor = descriptor }

    deinit { _ = close(descriptor) }

    /// Up to 256 KiB from an offset on; none at the end.
    func chunk(at offset: Int64) throws -> Data {
        var chunk = Data(count: Self.chunkSize)
        let count = try chunk.withUnsafeMutableBytes { bytes in
            while true {
                let count = pread(descriptor, bytes.baseAddress, bytes.count, off_t(offset))
                if count >= 0 { return count }
                if errno != EINTR { throw SystemFailure.last }
            }
        }
        return chunk.prefix(count)
    }

    /// All bytes.
    func data() throws -> Data {
        var data = Data()
        while case let chunk = try chunk(at: Int64(data.count)), !chunk.isEmpty { data.append(chunk) }
        return data
    }

    /// Writes all of it behind what was written before.
    func append(_ data: Data) throws {
        try data.withUnsafeBytes { bytes in
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                if count < 0 {
                    if errno != EINTR { throw SystemFailure.last }
                } else {
                    rest = rest.dropFirst(count)
                }
            }
        }
    }

    func sync() throws { try checked { fsync(descriptor) } }

    /// Whether nobody else has locked it; it is locked then until it is closed, however the process ends.
    func tryLock() -> Bool { flock(descriptor, LOCK_EX | LOCK_NB) == 0 }

    /// Whether it still has a name in some folder.
    func hasName() throws -> Bool {
        var status = stat()
        try checked { fstat(descriptor, &status) }
        return status.st_nlink > 0
    }

    var isRegular: Bool {
        get throws {
            var status = stat()
            try checked { fstat(descriptor, &status) }
            return status.st_mode & S_IFMT == S_IFREG
        }
    }
}
