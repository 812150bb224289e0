import Foundation
import GRDB
import LFS

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The files that documents were made from. A repair uses their bytes if they still match the recorded ones.
struct Originals: Sendable {
    let database: any DatabaseReader

    /// Returns the originals of the right size, opened. Many files may have equal content, and a few of them are
    /// sufficient.
    @Sendable func sources(of id: FileData.ID) async throws -> [FileSource] {
        let (paths, byteCount) = try await database.read { db in
            let rows = try Row.fetchAll(
                db,
                sql: """
                    SELECT d.path, f.byteCount FROM uploader_document d JOIN lfs_file f ON f.id = d.fileId
                    WHERE d.fileId = ? ORDER BY d.id LIMIT 16
                    """, arguments: [id])
            return (
                rows.compactMap { FilePath.fromDatabaseValue($0[0]) },
                rows.first.flatMap { Int64.fromDatabaseValue($0[1]) }
            )
        }
        return paths.compactMap { Self.open($0, byteCount: byteCount) }
    }

    /// Opens an original. Returns nil if the file is not suitable.
    private static func open(_ path: FilePath, byteCount: Int64?) -> FileSource? {
        // Opening a pipe would block until another process writes to it.
        let number = path.withCString { systemOpen($0, flags: O_RDONLY | O_CLOEXEC | O_NONBLOCK) }
        guard number >= 0 else { return nil }
        let handle = FileHandle(fileDescriptor: number, closeOnDealloc: true)
        var status = stat()
        guard fstat(number, &status) == 0, status.st_mode & S_IFMT == S_IFREG, Int64(status.st_size) == byteCount else {
            return nil
        }
        return .handle(handle)
    }

    private static func systemOpen(_ path: UnsafePointer<CChar>, flags: Int32) -> Int32 {
        #if canImport(Glibc)
        Glibc.open(path, flags)
        #elseif canImport(Musl)
        Musl.open(path, flags)
        #else
        Darwin.open(path, flags)
        #endif
    }
}
