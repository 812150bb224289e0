import Foundation
import LFSSystem

/// The file `lfs.json` that ties a store to its database, so that a copied or swapped folder is noticed
/// before anything in it is used or removed.
package struct StoreMarker: Codable, Sendable {
    static let name = "lfs.json"
    private static let file = MarkerFile<StoreMarker>(name)
    /// Of the folder's layout, not of the database's schema.
    static let currentLayout = 1

    var databaseID: String
    var layout: Int
    /// How often the database had been opened when it last used this folder. A database that has a lower number is an
    /// older copy of the one that did.
    package var generation: Int64
    /// The opening for which this folder was made, 1 for the first of the database; nil from before it was noted. A
    /// later one means that the database was used with another folder before. Noted when the folder is made, so before
    /// that opening is counted: when it ends in between, the next one can tell that it was the first.
    package var madeFor: Int64?
    /// Whether the database was used with another folder before, or in between; nil for no.
    package var followsAnother: Bool?

    /// The marker, made if there is none.
    ///
    /// - Parameters:
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
        } catch let error as FileError {
            throw error
        } catch {
            throw FileError.keeping(error, at: directory.path)
        }
    }

    /// Makes the marker, unless another process has made it meanwhile, and may have counted in it.
    static func make(
        in directory: Directory, through incoming: Directory, databaseID: String, openings: Int64
    ) throws -> StoreMarker {
        let marker = StoreMarker(
            databaseID: databaseID, layout: currentLayout, generation: 0, madeFor: openings + 1)
        do {
            try file.make(marker, in: directory, through: incoming)
            return marker
        } catch let error as SystemError {
            // Another one has the name by now, or has opened the database alone and cleared what was unfinished.
            guard error.isExisting || error.isMissing, let other = try find(in: directory) else { throw error }
            return other
        }
    }

    /// Makes the marker in the place of one that a power cut, or a disk that lies, has left empty or cut off.
    ///
    /// The folder is taken for this database's only when its lock file says so, or when it holds no file that anybody
    /// could miss. What the marker counted is gone, so whatever is there is taken for newer than the database.
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

    /// Whether there is a file of anybody in the folder, or in those of its folders that keep files.
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
        } catch let error as FileError {
            throw error
        } catch {
            throw FileError.keeping(error, at: directory.path)
        }
    }

    /// - Parameter incoming: where the text is written first; what a crash leaves there goes with the next open.
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
            "\(directory.path) belongs to another database (\(databaseID)). "
                + "Move it aside, or put the database back beside its own folder.",
            path: directory.path)
    }
}
