package import LFSSystem

/// The reason why bytes could not be ingested, stored or found on this device.
package struct FileError: Error, Sendable, CustomStringConvertible {
    package enum Code: String, CaseIterable, Sendable {
        /// The disk or the quota is full.
        case noSpace
        case permissionDenied
        case readOnly
        /// The file to read does not exist.
        case missing
        /// A folder that was used before is missing, for example because its disk is not mounted.
        case folderAbsent
        /// The entry to read is a folder, a link or a device.
        case notAFile
        /// The source changed during the read.
        case sourceChanged
        /// The source failed, or the task that reads it was cancelled.
        case sourceFailed
        case cancelled
        /// The store belongs to another database, or is not a store of LFS.
        case wrongStore
        /// Any other error of the system.
        case system
    }

    package let code: Code
    package let message: String
    package let path: String
    package let cause: (any Error)?

    package init(_ code: Code, message: String, path: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.path = path
        self.cause = cause
    }

    package var description: String { message }

    /// Wraps an error of the place where bytes are stored. Returns a `FileError` unchanged, because it already has a
    /// message.
    package static func keeping(_ error: any Error, at path: String) -> FileError {
        guard let error = error as? SystemError else { return other(error, path: path) }
        if error.isNoSpace {
            return FileError(
                .noSpace,
                message: "The disk that holds \(path) is full. Free some space, or keep files on another disk.",
                path: path, cause: error)
        }
        if error.isReadOnly {
            return FileError(
                .readOnly, message: "\(path) is on a read-only file system. Choose a place that can be written.",
                path: path,
                cause: error)
        }
        if error.isPermissionDenied {
            return FileError(
                .permissionDenied,
                message: "\(path) may not be written: \(error.reason). Check its permissions and owner.",
                path: path, cause: error)
        }
        if error.isMissing {
            return FileError(.missing, message: "\(path) does not exist: \(error.reason).", path: path, cause: error)
        }
        if error.isWithoutLocks {
            return FileError(
                .system,
                message: """
                    \(path) is on a file system without file locks (\(error.reason)), so another process could change \
                    the same files at the same time. Mount it with locks (for NFS, start its lock service), or use \
                    another disk.
                    """,
                path: path, cause: error)
        }
        return FileError(.system, message: "\(path) failed: \(error).", path: path, cause: error)
    }

    /// Wraps an error of one of LFS's own files, according to the failed call.
    package static func wrapping(_ error: SystemError) -> FileError {
        ["open", "read", "pread"].contains(error.call)
            ? reading(error, from: error.path) : keeping(error, at: error.path)
    }

    /// Wraps an error of the file that bytes are read from.
    package static func reading(_ error: any Error, from path: String) -> FileError {
        guard let error = error as? SystemError else { return other(error, path: path) }
        if error.isMissing { return FileError(.missing, message: "\(path) does not exist.", path: path, cause: error) }
        if error.isPermissionDenied {
            return FileError(
                .permissionDenied, message: "\(path) may not be read: \(error.reason).", path: path, cause: error)
        }
        if error.isSymbolicLink {
            return FileError(
                .notAFile, message: "\(path) is a symbolic link, which is not followed.", path: path, cause: error)
        }
        if error.isShortage {
            return FileError(.system, message: "\(path) cannot be opened: \(error.reason).", path: path, cause: error)
        }
        return FileError(.sourceFailed, message: "\(path) cannot be read: \(error.reason).", path: path, cause: error)
    }

    private static func other(_ error: any Error, path: String) -> FileError {
        if let error = error as? FileError { return error }
        if error is CancellationError {
            return FileError(.cancelled, message: "The task was cancelled. Nothing was kept.", path: path, cause: error)
        }
        return FileError(.sourceFailed, message: "The source of the bytes failed: \(error)", path: path, cause: error)
    }
}
