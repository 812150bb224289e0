import Foundation
import GRDB
import LFSBackup
import Synchronization

/// Folders that are pushed and in which no file is met: a disk that is not mounted looks like that. Where files were
/// pushed from there, it is told.
///
/// Owner of those that are left: the mutex.
final class EmptiedFolders: Sendable {
    /// The folders, each with the slash behind its name.
    private let left: Mutex<[FilePath]>

    /// - Parameter source: nothing is told of one whose filter leaves something out: it may be all.
    init(_ source: FolderSource) {
        left = Mutex(source.filter.takesAll ? source.roots.map { FilePath($0).appending([]) } : [])
    }

    /// Takes what is told of a file.
    func take(_ event: BackupEvent) {
        guard let name = event.file else { return }
        left.withLock { left in
            if left.isEmpty { return }
            // One that cannot be read is told as such, and nobody knows what is in it.
            left.removeAll { name.bytes.starts(with: $0.bytes) || FilePath(name).appending([]).bytes == $0.bytes }
        }
    }

    /// - Throws: the database's error.
    func tell(_ database: any DatabaseReader, _ report: Report) async throws {
        let folders = left.withLock { $0 }.filter(\.isFolder)
        if folders.isEmpty { return }
        let counts = try await database.read { db in try folders.map { try DocumentTable.count(below: $0, db) } }
        for (folder, count) in zip(folders, counts) where count > 0 {
            let path = FilePath(bytes: folder.bytes.dropLast())
            report.message(
                """
                \(path) has no file any more, and \(Format.count(count, "file")) \(count == 1 ? "was" : "were") pushed \
                from it. Is its disk mounted? \(count == 1 ? "It stays" : "They stay") on the storage. If that is on \
                purpose, 'remove --gone --accept-empty' with the name of this folder removes what is gone from it, and \
                without a name that of every disk that is away.
                """)
        }
    }
}

extension BackupEvent {
    /// The file that it is about; nil where it is about none that is there.
    fileprivate var file: AssetName? {
        switch self {
        case .found(let asset), .unchanged(let asset), .touched(let asset), .declined(let asset): asset.id
        case .attached(let asset, _, _), .restored(let asset, _): asset.id
        case .unreadable(let name, _), .failed(let name, _), .left(let name, _): name
        default: nil
        }
    }
}
