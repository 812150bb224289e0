import Foundation
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The file of `--log-file`: messages and results, one on each line, with their times. Several processes may append to
/// one. Owner of the descriptor: the mutex.
final class LogFile: Sendable {
    let path: String
    private let descriptor: Mutex<Int32>
    /// Whether a line could not be written: it is told once.
    private let hasFailed = Mutex(false)

    /// Opens the file, which is made if it is missing.
    ///
    /// - Throws: ``UploaderError`` when it cannot be.
    init(appendingTo path: String) throws {
        self.path = path
        descriptor = Mutex(try Self.open(path))
    }

    deinit { descriptor.withLock { _ = close($0) } }

    /// Opens the file of the path, after another program has moved the old one away. Where that fails, the old one is
    /// written on.
    func reopen() {
        do {
            let number = try Self.open(path)
            descriptor.withLock { descriptor in
                close(descriptor)
                descriptor = number
            }
        } catch {
            Console.message("uploader: \(Words.of(error)) The old one is written on.")
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
                systemWriteAll(descriptor, UnsafeRawBufferPointer($0))
            }
            return isWritten == true ? nil : errno
        }
        guard let failure else { return }
        let reason = String(cString: strerror(failure))
        let isFirst = hasFailed.withLock { hasFailed in
            defer { hasFailed = true }
            return !hasFailed
        }
        // The work goes on: it is worth more than its log.
        if isFirst { Console.message("uploader: The log \(path) cannot be written: \(reason).") }
    }
}
