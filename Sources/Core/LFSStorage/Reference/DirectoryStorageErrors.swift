import LFSSystem

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The conversion of system errors to storage errors for a folder that acts as a remote storage.
enum DirectoryStorageErrors {
    static func opening(_ path: String, error: SystemError) -> StorageError {
        if error.isMissing {
            let reason =
                hasParent(path)
                ? "the file system does not allow it. Choose another place." : "its parent folder is missing."
            return StorageError(
                .invalidRequest, message: "The storage folder \(path) cannot be made: \(reason)", cause: error)
        }
        return using(path, error: error)
    }

    /// Returns true if the parent exists. Even then a folder cannot be created in file systems that show the system's
    /// state.
    private static func hasParent(_ path: String) -> Bool {
        let parent = path.split(separator: "/").dropLast().joined(separator: "/")
        let start = path.hasPrefix("/") ? "/" : "./"
        return (try? FileStatus(following: start + parent)) != nil
    }

    static func reading(_ path: String, error: SystemError) -> StorageError {
        guard error.isPermissionDenied else { return using(path, error: error) }
        return StorageError(
            .forbidden, message: "The storage folder \(path) may not be read (\(error.reason)): check its permissions.",
            cause: error)
    }

    static func using(_ path: String, error: any Error, key: ObjectKey? = nil) -> StorageError {
        guard let error = error as? SystemError else { return StorageError(wrapping: error, key: key) }
        if error.isMissing {
            return StorageError(
                .unreachable, message: "The storage folder \(path) does not exist. Is its share mounted?", key: key,
                cause: error)
        }
        if error.isNoSpace {
            return StorageError(.noSpace, message: "The storage folder \(path) is full.", key: key, cause: error)
        }
        if error.isPermissionDenied || error.isReadOnly {
            return StorageError(
                .forbidden,
                message: "The storage folder \(path) may not be written (\(error.reason)): check its permissions.",
                key: key, cause: error)
        }
        if error.isShortage {
            return StorageError(
                .unreachable, message: "The storage folder \(path) cannot be used now: \(error.reason)", key: key,
                cause: error)
        }
        if error.isWithoutLocks {
            return StorageError(
                .misconfigured,
                message: """
                    The storage folder \(path) is on a file system without file locks (\(error.reason)), which uploads \
                    need. Mount it with locks (for NFS, start its lock service), or choose another folder.
                    """,
                key: key, cause: error)
        }
        switch error.errno {
        case ESTALE, ENOTCONN, EHOSTDOWN, EHOSTUNREACH, ENODEV, ENXIO:
            return StorageError(
                .unreachable, message: "The storage folder \(path) does not answer: \(error.reason)", key: key,
                cause: error)
        default:
            return StorageError(
                .serverError, message: "The storage folder \(path) failed: \(error)", key: key, cause: error)
        }
    }
}
