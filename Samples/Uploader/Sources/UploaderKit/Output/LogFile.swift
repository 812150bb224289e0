import Foundation
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The file of `--log-file`. It contains messages and results with their times, one per line. Several processes may
/// append to the same file. The mutex owns the descriptor.
final class LogFile: Sendable {
    let path: String
    private let descriptor: Mutex<Int32>
    /// True if a line could not be written. This is reported once.
    private let hasFailed = Mutex(false)

    /// Opens the file, and creates it if it is missing.
    ///
    /// - Throws: ``UploaderError`` if it cannot be opened.
    init(appendingTo path: String) throws {
        self.path = path
        descriptor = Mutex(try Self.open(path))
    }

    deinit { descriptor.withLock { _ = close($0) } }

    /// Reopens the file after another program has moved the old one. If that fails, the old file stays in use.
    func reopen() {
        do {
            let number = try Self.open(path)
            descriptor.withLock { descriptor in
                close(descriptor)
                descriptor = number
            }
        } catch {
            Console.message("uploader: \(ErrorMessages.of(error)) The old log stays in use.")
        }
    }

    private static func open(_ path: String) throws -> Int32 {
        let number = openat(AT_FDCWD, path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0o600)
        guard number >= 0 else {
            throw UploaderError("The log \(path) cannot be opened: \(String(cString: strerror(errno))).")
        }
        return number
    }

    func write(_ line: String) {
        let text = "\(Date().formatted(.iso8601)) \(Printable.text(line))\n"
        let failure = descriptor.withLock { descriptor -> Int32? in
            let isWritten = text.utf8.withContiguousStorageIfAvailable {
                systemWriteAll(descriptor, bytes: UnsafeRawBufferPointer($0))
            }
            return isWritten == true ? nil : errno
        }
        guard let failure else { return }
        let reason = String(cString: strerror(failure))
        let isFirst = hasFailed.withLock { hasFailed in
            defer { hasFailed = true }
            return !hasFailed
        }
        // The run continues, because its work matters more than its log.
        if isFirst { Console.message("uploader: The log \(path) cannot be written: \(reason).") }
    }
}
