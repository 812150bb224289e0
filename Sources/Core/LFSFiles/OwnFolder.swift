package import LFSSystem

/// The checks on a folder or a file before LFS stores anything in it.
///
/// They also apply to root: a user whose folder root uses could redirect root into any other folder.
package enum OwnFolder {
    /// Checks a folder of LFS, and accepts one on a file system that stores no permissions. The mount options decide
    /// there who may use the files, and no `chmod` changes that.
    ///
    /// - Throws: ``FileError/Code/permissionDenied`` if other users could replace LFS's files.
    package static func requireOwn(_ folder: Directory, path: String) throws(FileError) {
        try accept(folder, path: path, unless: require)
    }

    /// Checks a folder like ``requireShared(_:path:)``, and accepts one on a file system that stores no permissions.
    ///
    /// - Throws: ``FileError/Code/permissionDenied``.
    package static func requireSharedFolder(_ folder: Directory, path: String) throws(FileError) {
        try accept(folder, path: path, unless: requireShared)
    }

    private static func accept(
        _ folder: Directory, path: String, unless check: (FileStatus, String) throws(FileError) -> Void
    ) throws(FileError) {
        let status: FileStatus
        do throws(SystemError) {
            status = try folder.status()
        } catch {
            throw FileError.keeping(error, at: path)
        }
        do throws(FileError) {
            try check(status, path)
        } catch {
            // If this process cannot create a file there, the refusal is the error to report.
            let probe = Result { () throws(SystemError) in try folder.isWithoutModes() }
            guard case .success(true) = probe else { throw error }
        }
    }

    /// - Throws: ``FileError/Code/permissionDenied`` if other users could replace LFS's files.
    package static func require(_ status: FileStatus, path: String) throws(FileError) {
        guard status.owner == FileStatus.currentUser else {
            throw FileError(
                .permissionDenied,
                message: """
                    \(path) belongs to user \(status.owner), and this process runs as user \
                    \(FileStatus.currentUser). Run it as that user, or choose another folder.
                    """,
                path: path)
        }
        guard status.permissions & 0o022 == 0 else {
            throw FileError(
                .permissionDenied,
                message: "\(path) can be written by other users (mode \(octal(status))). Run: chmod 700 '\(path)'",
                path: path)
        }
    }

    /// Checks a folder that contains one of LFS's folders next to those of other users. Another folder could be put in
    /// its place by the parent's owner, and by anyone with write access if the sticky bit is not set.
    ///
    /// - Throws: ``FileError/Code/permissionDenied``.
    package static func requireShared(_ status: FileStatus, path: String) throws(FileError) {
        guard status.owner == FileStatus.currentUser || status.owner == 0 else {
            throw FileError(
                .permissionDenied,
                message: """
                    \(path) belongs to user \(status.owner), who could replace its contents. Choose a folder of this \
                    user (\(FileStatus.currentUser)).
                    """,
                path: path)
        }
        guard status.permissions & 0o022 == 0 || status.permissions & 0o1000 != 0 else {
            throw FileError(
                .permissionDenied,
                message: """
                    Other users can replace the contents of \(path) (mode \(octal(status))). Run: \
                    chmod go-w '\(path)', or chmod +t '\(path)' if others need it.
                    """,
                path: path)
        }
    }

    /// Opens one of LFS's folders inside another one, and creates it if it is missing.
    ///
    /// - Throws: ``FileError/Code/wrongStore`` if a link or a file has its name.
    package static func open(_ name: String, in parent: Directory) throws(FileError) -> Directory {
        let path = parent.child(name)
        do {
            let folder = try parent.openOrMake(name)
            try requireOwn(folder, path: path)
            return folder
        } catch {
            throw wrongKind(error, path: path) ?? FileError.keeping(error, at: path)
        }
    }

    /// Returns a lock on one of LFS's files, which is created if it is missing.
    ///
    /// - Throws: ``FileError/Code/wrongStore`` if the file is a link, or has a second name through which others lock it
    ///   too.
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
                    message: """
                        \(path) must be a regular file of this user without other hard links to be a lock. Close the \
                        database everywhere and remove the file.
                        """,
                    path: path)
            }
            return file
        } catch {
            throw wrongKind(error, path: path) ?? FileError.keeping(error, at: path)
        }
    }

    private static func wrongKind(_ error: any Error, path: String) -> FileError? {
        guard let error = error as? SystemError, error.isSymbolicLink || error.isNoFolder else { return nil }
        return FileError(
            .wrongStore,
            message: """
                A link, or a file of another kind, has the name \(path). LFS does not follow it. \
                Remove it, and LFS creates it again.
                """,
            path: path, cause: error)
    }

    private static func octal(_ status: FileStatus) -> String { String(status.permissions, radix: 8) }
}
