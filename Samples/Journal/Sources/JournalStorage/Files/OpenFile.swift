import Foundation

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// An open file, which is closed after its last reference is released.
final class OpenFile: Sendable {
    static let chunkSize = 256 << 10
    let descriptor: Int32

    init(_ descriptor: Int32) { self.descriptor = descriptor }

    deinit { _ = close(descriptor) }

    /// Returns up to 256 KiB from an offset. No bytes at the end.
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

    /// Returns all bytes.
    func data() throws -> Data {
        var data = Data()
        while case let chunk = try chunk(at: Int64(data.count)), !chunk.isEmpty { data.append(chunk) }
        return data
    }

    /// Writes all bytes after those that were written before.
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

    /// Locks the file until it is closed, even if the process is killed. Returns false if another process has locked
    /// it.
    ///
    /// - Throws: ``SystemFailure`` if the file system has no locks. A caller that retries would never end.
    func tryLock() throws -> Bool {
        if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return true }
        guard errno == EWOULDBLOCK else { throw SystemFailure.last }
        return false
    }

    /// Returns the type of the file and the number of its names, among other values.
    func status() throws -> stat {
        var status = stat()
        try checked { fstat(descriptor, &status) }
        return status
    }
}

/// The bytes of an open file in chunks.
struct FileChunks: AsyncSequence, Sendable {
    let file: OpenFile
    /// The name of the file in errors.
    let name: String

    func makeAsyncIterator() -> Iterator { Iterator(file: file, name: name) }

    struct Iterator: AsyncIteratorProtocol {
        let file: OpenFile
        let name: String
        var offset: Int64 = 0

        @concurrent mutating func next() async throws -> Data? {
            try Task.checkCancellation()
            do {
                let chunk = try file.chunk(at: offset)
                offset += Int64(chunk.count)
                return chunk.isEmpty ? nil : chunk
            } catch {
                throw FileStorageError.fileReadFailed(name: name, reason: .init(error))
            }
        }
    }
}
