package import LFSSystem

/// What a folder or a file has to be before we keep anything in it.
///
/// Root is no exception: a user whose folder root would use could lead it into any other.
package enum OwnFolder {
    /// - Throws: ``FileError/Code/permissionDenied`` when others could replace our files.
    package static func require(_ status: FileStatus, _ path: String) throws(FileError) {
        guard status.owner == FileStatus.currentUser else {
            throw FileError(
                .permissionDenied,
                """
                \(path) belongs to user \(status.owner), and this process runs as user \(FileStatus.currentUser). Run \
                it as that user, or name another folder.
                """,
                path: path)
        }
        guard status.permissions & 0o022 == 0 else {
            throw FileError(
                .permissionDenied,
                "\(path) can be written by other users (mode \(octal(status))). Run: chmod 700 '\(path)'", path: path)
        }
    }

    /// A folder in which we have one of our own beside those of others. Whoever owns it, and whoever may write to it
    /// without its sticky bit, could put another one in its place.
    ///
    /// - Throws: ``FileError/Code/permissionDenied``.
    package static func requireShared(_ status: FileStatus, _ path: String) throws(FileError) {
        guard status.owner == FileStatus.currentUser || status.owner == 0 else {
            throw FileError(
                .permissionDenied,
                """
                \(path) belongs to user \(status.owner), who could replace what is in it. Name a folder of this user \
                (\(FileStatus.currentUser)).
                """,
                path: path)
        }
        guard status.permissions & 0o022 == 0 || status.permissions & 0o1000 != 0 else {
            throw FileError(
                .permissionDenied,
                """
                Other users can replace what is in \(path) (mode \(octal(status))). Run: chmod go-w '\(path)', or \
                chmod +t '\(path)' if others need it.
                """,
                path: path)
        }
    }

    /// Opens a folder of ours below another one, and makes it if it is missing.
    ///
    /// - Throws: ``FileError/Code/wrongStore`` when a link or a file has its name.
    package static func open(_ name: String, in parent: Directory) throws(FileError) -> Directory {
        let path = parent.child(name)
        do {
            let folder = try parent.openOrMake(name)
            try require(folder.status(), path)
            return folder
        } catch {
            throw wrongKind(error, path) ?? FileError.keeping(error, at: path)
        }
    }

    /// A lock on a file of ours, made if it is missing.
    ///
    /// - Throws: ``FileError/Code/wrongStore`` when it is a link, or has a second name by which others lock it too.
    package static func lock(_ name: String, in folder: Directory) throws(FileError) -> FileLock {
        FileLock(try openLockFile(name, in: folder))
    }

    package static func openLockFile(_ name: String, in folder: Directory) throws(FileError) -> Descriptor {
        let path = folder.child(name)
        do {
            let file = try folder.openOrCreate(name)
            guard try file.status().isSolelyOurs else {
                throw FileError(
                    .wrongStore,
                    """
                    \(path) is not a file of this user with one name, so it cannot be a lock. Close the database \
                    everywhere and remove it.
                    """,
                    path: path)
            }
            return file
        } catch {
            throw wrongKind(error, path) ?? FileError.keeping(error, at: path)
        }
    }

    private static func wrongKind(_ error: any Error, _ path: String) -> FileError? {
        guard let error = error as? SystemError, error.isSymbolicLink || error.isNoFolder else { return nil }
        return FileError(
            .wrongStore,
            """
            A link, or a file of another kind, has the name \(path), and is not followed. \
            Remove it: LFS makes it anew.
            """,
            path: path, cause: error)
    }

    private static func octal(_ status: FileStatus) -> String { String(status.permissions, radix: 8) }
}
