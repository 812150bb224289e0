#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The disk of a folder that the server writes to.
struct DiskSpace: Sendable {
    /// The use of the disk: `database` or `storage`.
    let name: String
    /// The path of the folder.
    let path: String

    /// Returns the number of bytes that this process may still write.
    ///
    /// - Throws: ``HealthFailure`` if the folder cannot be examined.
    func available() throws -> Int64 {
        var status = statvfs()
        guard statvfs(path, &status) == 0 else {
            let reason = String(cString: strerror(errno))
            throw HealthFailure(
                message: "The disk of the \(name) cannot be examined.",
                cause: HealthFailure(message: "\(path): \(reason)"))
        }
        let (bytes, isTooMany) = UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize))
        return isTooMany ? .max : Int64(clamping: bytes)
    }

    /// Checks that the disk has more free space than a number of bytes.
    ///
    /// - Throws: ``HealthFailure``.
    func requireRoom(_ reserve: Int64) throws {
        guard reserve > 0, try available() <= reserve else { return }
        throw HealthFailure(message: "The disk of the \(name) has less free space than --reserve.")
    }
}
