import Foundation
package import LFSBackup

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A symbolic link that is restored with its recorded target, whatever that is. Nothing is written through it.
package struct RestoreLink: Sendable {
    let place: RestorePlace
    let target: FilePath
    let attributes: FileAttributes

    package init(place: RestorePlace, target: FilePath, attributes: FileAttributes) {
        self.place = place
        self.target = target
        self.attributes = attributes
    }

    /// The entry at its place.
    package enum Existing: Equatable { case nothing, same, other }

    /// - Parameter folder: the parent folder. Nil if it is missing.
    /// - Throws: ``UploaderError`` if the existing entry is not a link.
    package func look(in folder: OpenFolder?) throws -> Existing {
        guard let folder, let status = try folder.status(of: place.name) else { return .nothing }
        guard status.st_mode & S_IFMT == S_IFLNK else {
            throw UploaderError("\(place.path) is in the way: it is not a link")
        }
        var bytes = [CChar](repeating: 0, count: target.bytes.count + 1)
        let count = name.withCString { readlinkat(folder.number, $0, &bytes, bytes.count) }
        guard count >= 0 else { throw RestoreFailure.of(place.path) }
        return bytes.prefix(count).map({ UInt8(bitPattern: $0) }) == target.bytes ? .same : .other
    }

    /// The error for a link with another target, which stays.
    var conflict: UploaderError {
        UploaderError("\(place.path) exists with another target and is not overwritten")
    }

    /// Creates the link in its folder.
    ///
    /// - Parameter overwrites: true if an existing link at its place may be replaced.
    /// - Throws: ``UploaderError``.
    package func make(in folder: OpenFolder, overwrites: Bool) throws {
        guard !target.bytes.isEmpty, !target.bytes.contains(0) else {
            throw UploaderError("its target in the database cannot be written")
        }
        if !overwrites {
            guard make(name, in: folder) else { throw RestoreFailure.of(place.path) }
        } else {
            let part = FilePath(".\(UUID().uuidString).part")
            guard make(part, in: folder) else { throw RestoreFailure.of(place.path) }
            guard folder.rename(part.bytes, to: place.name) else {
                let failure = RestoreFailure.of(place.path)
                folder.discard(part.bytes)
                throw failure
            }
        }
        guard attributes.apply(toLink: name, in: folder) else { throw RestoreFailure.of(place.path) }
    }

    private var name: FilePath { FilePath(bytes: place.name) }

    private func make(_ name: FilePath, in folder: OpenFolder) -> Bool {
        target.withCString { text in name.withCString { symlinkat(text, folder.number, $0) } } == 0
    }
}
