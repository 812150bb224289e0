import Foundation

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The folder `saving` in the local store, in which copies of the database are made before their upload.
///
/// The local store belongs to this user alone. In a shared folder for temporary files, other users could redirect the
/// removal of old copies to any file of this user.
struct SavingFolder: Sendable {
    private static let name = Array("saving".utf8)
    /// The age in seconds at which a file is considered left over from a killed process.
    private static let longestSave = 86_400

    private let folder: OpenFolder
    var path: FilePath { folder.path }

    /// Opens the folder, and creates it if it is missing.
    ///
    /// - Parameter store: the path of the local store.
    /// - Throws: ``UploaderError`` if it is not a folder that belongs to this user alone.
    init(in store: String) throws {
        guard let parent = try OpenFolder.open(FilePath(store)) else { throw UploaderError("\(store) is missing") }
        _ = try parent.make(Self.name, mode: 0o700)
        guard let folder = try parent.folder(Self.name) else {
            throw UploaderError("\(parent.path.appending(Self.name)) is missing")
        }
        let status = try folder.status()
        let isPrivate = status.st_uid == geteuid() && status.st_mode & 0o022 == 0
        guard isPrivate || folder.isWithoutModes() else {
            throw UploaderError("\(folder.path) belongs to another user, or others may write to it: remove it")
        }
        self.folder = folder
    }

    func url(of name: String) -> URL { URL(fileURLWithPath: folder.path.appending(Array(name.utf8)).exact) }

    func byteCount(of name: String) throws -> Int64 { Int64(try folder.status(of: Array(name.utf8))?.st_size ?? 0) }

    func discard(_ name: String) { folder.discard(Array(name.utf8)) }

    /// Removes the files of killed processes.
    ///
    /// - Throws: ``UploaderError``.
    func sweep() throws {
        let now = time(nil)
        for name in try folder.names() {
            guard let status = try folder.status(of: name) else { continue }
            #if canImport(Darwin)
            let modified = status.st_mtimespec.tv_sec
            #else
            let modified = status.st_mtim.tv_sec
            #endif
            if modified < now - Self.longestSave { folder.discard(name) }
        }
    }
}
