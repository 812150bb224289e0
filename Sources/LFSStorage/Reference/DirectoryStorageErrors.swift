import LFSSystem

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// What the system's errors mean when they come from a folder that acts as a remote storage.
enum DirectoryStorageErrors {
    static func opening(_ path: String, _ error: SystemError) -> StorageError {
        if error.isMissing {
            let reason =
                hasParent(path)
                ? "the file system takes no folder there. Name another place." : "its parent folder is missing."
            return StorageError(
                .invalidRequest, "The storage folder \(path) cannot be made: \(reason)", cause: error)
        }
        return using(path, error)
    }

    /// Not every one takes folders that are made: those that show the system's state take none.
    private static func hasParent(_ path: String) -> Bool {
        var status = stat()
        let parent = path.split(separator: "/").dropLast().joined(separator: "/")
        let start = path.hasPrefix("/") ? "/" : "./"
        return stat(start + parent, &status) == 0
    }

    static func reading(_ path: String, _ error: SystemError) -> StorageError {
        guard error.isPermissionDenied else { return using(path, error) }
        return StorageError(
            .forbidden, "The storage folder \(path) may not be read (\(error.reason)): check its permissions.",
            cause: error)
    }

    static func using(_ path: String, _ error: any Error, key: ObjectKey? = nil) -> StorageError {
        guard let error = error as? SystemError else { return StorageError(wrapping: error, key: key) }
        if error.isMissing {
            return StorageError(
                .unreachable, "The storage folder \(path) is not there: is its share mounted?", key: key, cause: error)
        }
        if error.isNoSpace {
            return StorageError(.noSpace, "The storage folder \(path) is full.", key: key, cause: error)
        }
        if error.isPermissionDenied || error.isReadOnly {
            return StorageError(
                .forbidden, "The storage folder \(path) may not be written (\(error.reason)): check its permissions.",
                key: key, cause: error)
        }
        if error.isShortage {
            return StorageError(
                .unreachable, "The storage folder \(path) cannot be used now: \(error.reason)", key: key, cause: error)
        }
        if error.isWithoutLocks {
            return StorageError(
                .misconfigured,
                """
                The storage folder \(path) is on a file system without file locks (\(error.reason)), which uploads \
                need. Mount it with locks (for NFS, start its lock service), or name another folder.
                """,
                key: key, cause: error)
        }
        switch error.errno {
        case ESTALE, ENOTCONN, EHOSTDOWN, EHOSTUNREACH, ENODEV, ENXIO:
            return StorageError(
                .unreachable, "The storage folder \(path) does not answer: \(error.reason)", key: key, cause: error)
        default:
            return StorageError(.serverError, "The storage folder \(path) failed: \(error)", key: key, cause: error)
        }
    }
}
