package import LFSSystem

/// Why bytes could not be taken in, kept or found on this device.
package struct FileError: Error, Sendable, CustomStringConvertible {
    package enum Code: String, CaseIterable, Sendable {
        /// The disk or the quota is full.
        case noSpace
        case permissionDenied
        case readOnly
        /// What should be read is not there.
        case missing
        /// A folder that was used before is not there: an unmounted disk.
        case folderAbsent
        /// What should be read is a folder, a link, a device.
        case notAFile
        /// The source changed while it was read.
        case sourceChanged
        /// The source failed, or the task that reads it was cancelled.
        case sourceFailed
        case cancelled
        /// The store belongs to another database, or is not one of ours.
        case wrongStore
        /// Anything else that the system said.
        case system
    }

    package let code: Code
    package let message: String
    package let path: String
    package let cause: (any Error)?

    package init(_ code: Code, _ message: String, path: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.path = path
        self.cause = cause
    }

    package var description: String { message }

    /// An error of the place where bytes are kept. One that says its reason already stays as it is.
    package static func keeping(_ error: any Error, at path: String) -> FileError {
        guard let error = error as? SystemError else { return other(error, path) }
        if error.isNoSpace {
            return FileError(
                .noSpace, "The disk that holds \(path) is full. Free some space, or keep files on another disk.",
                path: path, cause: error)
        }
        if error.isReadOnly {
            return FileError(
                .readOnly, "\(path) is on a read-only file system. Choose a place that can be written.", path: path,
                cause: error)
        }
        if error.isPermissionDenied {
            return FileError(
                .permissionDenied, "\(path) may not be written: \(error.reason). Check its permissions and owner.",
                path: path, cause: error)
        }
        if error.isMissing {
            return FileError(.missing, "\(path) is not there: \(error.reason).", path: path, cause: error)
        }
        if error.isWithoutLocks {
            return FileError(
                .system,
                """
                \(path) is on a file system without file locks (\(error.reason)), so another process could change \
                the same files at the same time. Mount it with locks (for NFS, start its lock service), or use another \
                disk.
                """,
                path: path, cause: error)
        }
        return FileError(.system, "\(path) failed: \(error).", path: path, cause: error)
    }

    /// An error of a file of ours, by what was done with it.
    package static func wrapping(_ error: SystemError) -> FileError {
        ["open", "read", "pread"].contains(error.call)
            ? reading(error, from: error.path) : keeping(error, at: error.path)
    }

    /// An error of the file that bytes are read from.
    package static func reading(_ error: any Error, from path: String) -> FileError {
        guard let error = error as? SystemError else { return other(error, path) }
        if error.isMissing { return FileError(.missing, "\(path) does not exist.", path: path, cause: error) }
        if error.isPermissionDenied {
            return FileError(.permissionDenied, "\(path) may not be read: \(error.reason).", path: path, cause: error)
        }
        if error.isSymbolicLink {
            return FileError(
                .notAFile, "\(path) is a symbolic link, which is not followed.", path: path, cause: error)
        }
        if error.isShortage {
            return FileError(.system, "\(path) cannot be opened: \(error.reason).", path: path, cause: error)
        }
        return FileError(.sourceFailed, "\(path) cannot be read: \(error.reason).", path: path, cause: error)
    }

    private static func other(_ error: any Error, _ path: String) -> FileError {
        if let error = error as? FileError { return error }
        if error is CancellationError {
            return FileError(.cancelled, "The task was cancelled; nothing was kept.", path: path, cause: error)
        }
        return FileError(.sourceFailed, "The source of the bytes failed: \(error)", path: path, cause: error)
    }
}
