import Foundation
import LFSSystem

/// The file `lfs.json` that ties a store to its database, so that a copied or swapped folder is noticed
/// before anything in it is used or removed.
package struct StoreMarker: Codable, Sendable {
    static let name = "lfs.json"
    private static let file = MarkerFile<StoreMarker>(name)
    /// The version of the folder's layout that this code reads and writes. The database's schema has its own.
    static let currentLayout = 1

    /// The id of the database that the folder belongs to.
    var databaseID: String
    /// The version of the layout of this folder.
    var layout: Int
    /// How often the database had been opened when it last used this folder. A database that was opened fewer times is
    /// an older copy of the one that used the folder.
    package var generation: Int64
    /// The number of the opening that made this folder, 1 for the first one of the database; nil when it is not known,
    /// because the marker was damaged.
    ///
    /// More than 1 means that the database was used with another folder before. It is written when the folder is made,
    /// and the database counts the opening afterwards. If the process ends between the two, the next opening has the
    /// same number, so that a folder made for a first opening is still known as one.
    package var madeFor: Int64?
    /// Whether the database was used with another folder before this one, or between two uses of it; nil for no.
    package var followsAnother: Bool?

    /// Reads the marker, makes it in a new folder, and checks that the folder is this database's.
    ///
    /// - Parameters:
    ///   - incoming: the folder in which a new marker is written before it gets its name.
    ///   - databaseID: the id of the database that is being opened.
    ///   - openings: how often the database was opened before.
    ///   - reserve: which database the lock file says that the folder belongs to; nil when it says nothing.
    static func check(
        in directory: Directory, through incoming: Directory, databaseID: String, openings: Int64, reserve: String?
    ) throws(FileError) -> StoreMarker {
        do {
            let marker: StoreMarker
            switch try file.read(in: directory) {
            case .found(let found): marker = found
            case .missing:
                guard try reserve == nil && !holdsFiles(directory) else { fallthrough }
                marker = try make(in: directory, through: incoming, databaseID: databaseID, openings: openings)
            case .damaged:
                marker = try makeAnew(
                    in: directory, through: incoming, databaseID: databaseID, openings: openings, reserve: reserve)
            case .unknown: throw isUnknown(directory)
            }
            guard marker.layout <= currentLayout else {
                throw FileError(
                    .wrongStore,
                    """
                    \(directory.path) has layout \(marker.layout), which is newer than this version of LFS. \
                    Update LFS.
                    """,
                    path: directory.path)
            }
            guard marker.databaseID == databaseID else { throw isAnothers(directory, marker.databaseID) }
            return marker
        } catch {
            throw FileError.keeping(error, at: directory.path)
        }
    }

    /// Makes the marker. If another process makes it at the same time, that process may have raised its counts already,
    /// so its marker stays and is returned.
    static func make(
        in directory: Directory, through incoming: Directory, databaseID: String, openings: Int64
    ) throws -> StoreMarker {
        let marker = StoreMarker(
            databaseID: databaseID, layout: currentLayout, generation: 0, madeFor: openings + 1)
        do {
            try file.make(marker, in: directory, through: incoming)
            return marker
        } catch let error as SystemError {
            // Another process has made the marker, or has removed ours from the folder for unfinished files, as it does
            // when it opens the database alone.
            guard error.isExisting || error.isMissing, let other = try find(in: directory) else { throw error }
            return other
        }
    }

    /// Replaces a marker that is empty or cut off, as a power cut leaves it, or a disk that reports a sync too early.
    ///
    /// The folder counts as this database's only when its lock file says so, or when there is no file in it. The counts
    /// of the old marker are lost, so the files in the folder count as newer than the database, and none is swept.
    private static func makeAnew(
        in directory: Directory, through incoming: Directory, databaseID: String, openings: Int64, reserve: String?
    ) throws -> StoreMarker {
        if let reserve, reserve != databaseID { throw isAnothers(directory, reserve) }
        let isEmpty = try !holdsFiles(directory)
        guard reserve != nil || isEmpty else {
            throw FileError(
                .wrongStore,
                """
                \(directory.child(name)) is missing or damaged, so nothing says whose the files beside it are. \
                If they are of this database, say so: \
                echo '{"databaseID":"\(databaseID)","generation":\(openings + 1),"layout":\(currentLayout)}' \
                > '\(directory.child(name))'
                """,
                path: directory.path)
        }
        let marker = StoreMarker(
            databaseID: databaseID, layout: currentLayout, generation: isEmpty ? 0 : openings + 1,
            madeFor: isEmpty ? openings + 1 : nil)
        try file.replace(with: marker, in: directory, through: incoming)
        return marker
    }

    /// Whether there is any file in the folder, or in those of its folders that keep files.
    private static func holdsFiles(_ directory: Directory) throws -> Bool {
        if try directory.holdsFiles() { return true }
        for name in [LocalStore.temporaryName, LocalStore.quarantineName] {
            guard try directory.status(of: name)?.isDirectory == true else { continue }
            if try directory.openFolder(name).holdsFiles() { return true }
        }
        return false
    }

    /// The marker that is there now, nil if there is none.
    static func find(in directory: Directory) throws(FileError) -> StoreMarker? {
        do {
            switch try file.read(in: directory) {
            case .found(let marker): return marker
            case .missing, .damaged: return nil
            case .unknown: throw isUnknown(directory)
            }
        } catch {
            throw FileError.keeping(error, at: directory.path)
        }
    }

    /// Replaces the marker.
    ///
    /// - Parameter incoming: the folder in which it is written before it gets its name. The next opening removes what a
    ///   crash has left there.
    static func write(_ marker: StoreMarker, in directory: Directory, through incoming: Directory) throws {
        try file.replace(with: marker, in: directory, through: incoming)
    }

    private static func isUnknown(_ directory: Directory) -> FileError {
        FileError(
            .wrongStore, "\(directory.child(name)) is not a marker of LFS. Move the folder aside.",
            path: directory.path)
    }

    private static func isAnothers(_ directory: Directory, _ databaseID: String) -> FileError {
        FileError(
            .wrongStore,
            """
            \(directory.path) belongs to another database (\(databaseID)). Move it aside (LFSOptions.foreignStore does \
            it by itself), or put the database back beside its own folder.
            """,
            path: directory.path)
    }
}
