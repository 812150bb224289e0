import Foundation
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The file of `--log-file`: what is told, line by line, each with its time. Several processes may append to one.
final class LogFile: Sendable {
    let path: String
    private let descriptor: Int32
    /// Whether a line could not be written: it is told once.
    private let hasFailed = Mutex(false)

    /// Opens the file, which is made if it is missing.
    ///
    /// - Throws: ``UploaderError`` when it cannot be.
    init(appendingTo path: String) throws {
        self.path = path
        descriptor = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0o600)
        guard descriptor >= 0 else {
            throw UploaderError("The log \(path) cannot be opened: \(String(cString: strerror(errno))).")
        }
    }

    deinit { close(descriptor) }

    func write(_ line: String) {
        let text = "\(Date().formatted(.iso8601)) \(Printable.text(line))\n"
        let isWritten = text.utf8.withContiguousStorageIfAvailable {
            systemWriteAll(descriptor, UnsafeRawBufferPointer($0))
        }
        guard isWritten != true else { return }
        let reason = String(cString: strerror(errno))
        let isFirst = hasFailed.withLock { hasFailed in
            defer { hasFailed = true }
            return !hasFailed
        }
        // The work goes on: it is worth more than its log.
        if isFirst { Console.message("uploader: The log \(path) cannot be written: \(reason).") }
    }
}
