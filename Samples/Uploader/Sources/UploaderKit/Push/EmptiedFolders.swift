import Foundation
import GRDB
import LFSBackup
import Synchronization

/// The pushed folders in which no file was found, as in the mount point of an unmounted disk. If files were pushed from
/// such a folder before, it is reported.
///
/// The mutex owns the remaining folders.
final class EmptiedFolders: Sendable {
    /// The folders, each with a trailing slash.
    private let left: Mutex<[FilePath]>

    /// - Parameter source: the source. If its filter excludes files, nothing is reported, because the filter may
    ///   exclude all of them.
    init(_ source: FolderSource) {
        left = Mutex(source.filter.takesAll ? source.roots.map { FilePath($0).appending([]) } : [])
    }

    /// Processes an event of a file.
    func take(_ event: BackupEvent) {
        guard let name = event.file else { return }
        left.withLock { left in
            if left.isEmpty { return }
            // An unreadable folder is reported as such. Its content is unknown.
            left.removeAll { name.bytes.starts(with: $0.bytes) || FilePath(name).appending([]).bytes == $0.bytes }
        }
    }

    /// - Throws: the database's error.
    func tell(_ database: any DatabaseReader, report: Report) async throws {
        let folders = left.withLock { $0 }.filter(\.isFolder)
        if folders.isEmpty { return }
        let counts = try await database.read { db in try folders.map { try DocumentTable.count(below: $0, db) } }
        for (folder, count) in zip(folders, counts) where count > 0 {
            let path = FilePath(bytes: folder.bytes.dropLast())
            report.message(
                """
                \(path) has no file any more, and \(Format.count(count, noun: "file")) \
                \(count == 1 ? "was" : "were") pushed from it. Is its disk mounted? \
                \(count == 1 ? "It stays" : "They stay") on the storage. If this is on purpose, 'remove --gone \
                --accept-empty' with the name of this folder removes what is gone from it. Without a name, it also \
                removes the files of every disk that is not mounted.
                """)
        }
    }
}

extension BackupEvent {
    /// The file that the event concerns. Nil if it concerns no existing file.
    fileprivate var file: AssetName? {
        switch self {
        case .found(let asset), .unchanged(let asset), .touched(let asset), .declined(let asset): asset.id
        case .attached(let asset, _, _), .restored(let asset, _): asset.id
        case .unreadable(let name, _), .failed(let name, _), .left(let name, _): name
        default: nil
        }
    }
}
