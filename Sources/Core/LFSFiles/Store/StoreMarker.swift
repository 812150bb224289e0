import Foundation
import LFSSystem

/// The file `lfs.json`, which ties a store to its database. It reveals a copied or swapped folder before anything in it
/// is used or removed.
package struct StoreMarker: Codable, Sendable {
    static let name = "lfs.json"
    private static let file = MarkerFile<StoreMarker>(name)
    /// The version of the folder's layout that this code reads and writes. The database schema has a separate version.
    static let currentLayout = 1

    /// The id of the database that the folder belongs to.
    var databaseID: String
    /// The version of the layout of this folder.
    var layout: Int
    /// The number of times that the database had been opened when it last used this folder. A database with a lower
    /// number is an older copy of the one that used the folder.
    package var generation: Int64
    /// The number of the opening that created this folder, 1 for the first opening of the database. Nil if it is
    /// unknown because the marker was damaged.
    ///
    /// More than 1 means that the database was used with another folder before. The number is written when the folder
    /// is created, and the database counts the opening afterwards. If the process ends between the two, the next
    /// opening has the same number. So a folder that was created for a first opening keeps the number 1.
    package var madeFor: Int64?
    /// True if the database was used with another folder before this one, or between two uses of it. Nil means false.
    package var followsAnother: Bool?
    /// The number of the last opening that was written here before the database counted it. Nil in the marker of an
    /// earlier version.
    ///
    /// The process may end, or the disk may be full, after the database has counted and before ``generation`` is
    /// written. This number shows that the counted opening used this folder.
    package var announced: Int64?
    /// The random number that the announced opening wrote to the database with its count. If it was not counted, an
    /// opening with another folder may have its number in ``announced``, but not this one. Nil in the marker of an
    /// earlier version.
    package var announcedBarrier: Int64?

    /// The numbers of two openings differ by a multiple of it. The durable commits after an opening add to its number.
    private static let barrierStep: Int64 = 1 << 32

    /// Returns a random number that identifies an opening.
    package static func makeBarrier() -> Int64 { Int64.random(in: 0..<1 << 30) * barrierStep }

    /// Returns true if the database has counted an opening that did not use this folder.
    ///
    /// - Parameters:
    ///   - openings: the number of openings that the database has counted.
    ///   - barrier: the number that identifies the last of them, plus the number of durable commits since. Nil if it is
    ///     unknown.
    package func lagsBehind(_ openings: Int64, barrier: Int64?) -> Bool {
        guard generation > 0, generation < openings else { return false }
        guard let announced, announced >= openings else { return true }
        // Before a later opening was announced here, the last one was examined.
        guard announced == openings, let announcedBarrier else { return false }
        guard let barrier else { return true }
        let (commits, isTooFar) = barrier.subtractingReportingOverflow(announcedBarrier)
        return isTooFar || !(0..<Self.barrierStep).contains(commits)
    }

    /// Reads the marker, creates it in a new folder, and checks that the folder belongs to this database.
    ///
    /// - Parameters:
    ///   - incoming: the folder where a new marker is written before it gets its name.
    ///   - databaseID: the id of the database that is being opened.
    ///   - openings: the number of earlier openings of the database.
    ///   - reserve: the database that the lock file names as the folder's owner, nil if it names none.
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
                    message: """
                        \(directory.path) has layout \(marker.layout), which is newer than this version of LFS. \
                        Update LFS.
                        """,
                    path: directory.path)
            }
            guard marker.databaseID == databaseID else { throw isAnothers(directory, databaseID: marker.databaseID) }
            return marker
        } catch {
            throw FileError.keeping(error, at: directory.path)
        }
    }

    /// Creates the marker. Another process may create it at the same time and may already have raised its counts. Then
    /// that marker stays and is returned.
    static func make(
        in directory: Directory, through incoming: Directory, databaseID: String, openings: Int64
    ) throws -> StoreMarker {
        let marker = StoreMarker(
            databaseID: databaseID, layout: currentLayout, generation: 0, madeFor: openings + 1)
        do {
            try file.make(marker, in: directory, through: incoming)
            return marker
        } catch let error as SystemError {
            // Another process has created the marker. Or it has removed our temporary file from `incoming/`, which it
            // does when it opens the database alone.
            guard error.isExisting || error.isMissing, let other = try find(in: directory) else { throw error }
            return other
        }
    }

    /// Replaces a marker that is empty or truncated, for example after a power failure or because a disk reported a
    /// sync too early.
    ///
    /// The folder is accepted as this database's only if its lock file names the database, or if it contains no files.
    /// The counts of the old marker are lost. So existing files are treated as newer than the database, and none is
    /// swept.
    private static func makeAnew(
        in directory: Directory, through incoming: Directory, databaseID: String, openings: Int64, reserve: String?
    ) throws -> StoreMarker {
        if let reserve, reserve != databaseID { throw isAnothers(directory, databaseID: reserve) }
        let isEmpty = try !holdsFiles(directory)
        guard reserve != nil || isEmpty else {
            throw FileError(
                .wrongStore,
                message: """
                    \(directory.child(name)) is missing or damaged, so the owner of the files next to it is unknown. \
                    If they belong to this database, write the file again: \
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

    /// Returns true if the folder, or one of its subfolders for files, contains a file.
    private static func holdsFiles(_ directory: Directory) throws -> Bool {
        if try directory.holdsFiles() { return true }
        for name in [LocalStore.temporaryName, LocalStore.quarantineName] {
            guard try directory.status(of: name)?.isDirectory == true else { continue }
            if try directory.openFolder(name).holdsFiles() { return true }
        }
        return false
    }

    /// Reads the current marker. Returns nil if it is missing or damaged.
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
    /// - Parameter incoming: the folder where it is written before it gets its name. The next opening removes the
    ///   leftovers of a crash there.
    static func write(_ marker: StoreMarker, in directory: Directory, through incoming: Directory) throws {
        try file.replace(with: marker, in: directory, through: incoming)
    }

    private static func isUnknown(_ directory: Directory) -> FileError {
        FileError(
            .wrongStore, message: "\(directory.child(name)) is not a marker of LFS. Move the folder aside.",
            path: directory.path)
    }

    private static func isAnothers(_ directory: Directory, databaseID: String) -> FileError {
        FileError(
            .wrongStore,
            message: """
                \(directory.path) belongs to another database (\(databaseID)). Move it aside (LFSOptions.foreignStore \
                can do that), or put the database back next to its own folder.
                """,
            path: directory.path)
    }
}
