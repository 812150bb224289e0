import Foundation
import LFSBackup

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A symbolic link that is restored with the text that it had, wherever that leads. Nothing is written through it.
struct RestoreLink: Sendable {
    let place: RestorePlace
    let target: FilePath
    let attributes: FileAttributes

    /// What is at its place.
    enum Found: Equatable { case nothing, same, other }

    /// - Throws: ``UploaderError`` when it is no link.
    func look() throws -> Found {
        var status = stat()
        guard place.path.withCString({ lstat($0, &status) }) == 0 else {
            if errno == ENOENT { return .nothing }
            throw RestoreFailure.of(place.path)
        }
        guard status.st_mode & S_IFMT == S_IFLNK else {
            throw UploaderError("\(place.path) is in the way: it is not a link")
        }
        var bytes = [CChar](repeating: 0, count: target.bytes.count + 1)
        let count = place.path.withCString { readlink($0, &bytes, bytes.count) }
        guard count >= 0 else { throw RestoreFailure.of(place.path) }
        return bytes.prefix(count).map({ UInt8(bitPattern: $0) }) == target.bytes ? .same : .other
    }

    /// The reason why another link stays.
    var conflict: UploaderError {
        UploaderError("\(place.path) is there with another target and is not overwritten")
    }

    /// Makes it in a folder that is there.
    ///
    /// - Parameter overwrites: whether another link at its place goes.
    /// - Throws: ``UploaderError``.
    func make(overwrites: Bool) throws {
        guard !target.bytes.isEmpty, !target.bytes.contains(0) else {
            throw UploaderError("its target in the database is not one that can be written")
        }
        if !overwrites {
            guard make(at: place.path) else { throw RestoreFailure.of(place.path) }
        } else {
            let folder = FilePath(bytes: Array(place.path.bytes.dropLast(place.name.count)))
            let part = FilePath(bytes: folder.bytes + Array(".\(UUID().uuidString).part".utf8))
            guard make(at: part) else { throw RestoreFailure.of(place.path) }
            guard part.withCString({ from in place.path.withCString { rename(from, $0) } }) == 0 else {
                let failure = RestoreFailure.of(place.path)
                _ = part.withCString { unlink($0) }
                throw failure
            }
        }
        guard attributes.apply(toLink: place.path) else { throw RestoreFailure.of(place.path) }
    }

    private func make(at path: FilePath) -> Bool {
        target.withCString { text in path.withCString { symlink(text, $0) } } == 0
    }
}
