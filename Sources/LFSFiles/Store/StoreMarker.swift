import Foundation
import LFSSystem

/// The file `lfs.json` that ties a store to its database, so that a copied or swapped folder is noticed
/// before anything in it is used or removed.
package struct StoreMarker: Codable, Sendable {
    static let name = "lfs.json"
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
    /// - Parameter openings: how often the database was opened before.
    static func check(
        in directory: Directory, through incoming: Directory, databaseID: String, openings: Int64
    ) throws(FileError) -> StoreMarker {
        do {
            let found = try read(in: directory)
            let marker =
                try found ?? make(in: directory, through: incoming, databaseID: databaseID, openings: openings)
            guard marker.layout <= currentLayout else {
                throw FileError(
                    .wrongStore,
                    "\(directory.path) has layout \(marker.layout), which is newer than this version of LFS. Update LFS.",
                    path: directory.path)
            }
            guard marker.databaseID == databaseID else {
                throw FileError(
                    .wrongStore,
                    "\(directory.path) belongs to another database (\(marker.databaseID)). "
                        + "Move it aside, or put the database back beside its own folder.",
                    path: directory.path)
            }
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
        let temporary = try write(marker, to: incoming)
        do {
            try incoming.renameExclusively(temporary, to: directory, as: name)
            try directory.synchronize()
            return marker
        } catch {
            try incoming.remove(temporary)
            // Another one has the name by now, or has opened the database alone and cleared what was unfinished.
            guard error.isExisting || error.isMissing, let other = try read(in: directory) else { throw error }
            return other
        }
    }

    /// The marker that is there now, nil if there is none.
    static func find(in directory: Directory) throws(FileError) -> StoreMarker? {
        do {
            return try read(in: directory)
        } catch let error as FileError {
            throw error
        } catch {
            throw FileError.keeping(error, at: directory.path)
        }
    }

    private static func read(in directory: Directory) throws -> StoreMarker? {
        guard let status = try directory.status(of: name) else { return nil }
        let text = try Data(contentsOf: URL(fileURLWithPath: directory.child(name)))
        guard status.byteCount <= 4_096, let marker = decode(text) else {
            throw FileError(
                .wrongStore, "\(directory.child(name)) is not a marker of LFS. Move the folder aside.",
                path: directory.path)
        }
        return marker
    }

    private static func decode(_ text: Data) -> StoreMarker? {
        do { return try JSONDecoder().decode(StoreMarker.self, from: text) } catch { return nil }
    }

    /// - Parameter incoming: where the text is written first; what a crash leaves there goes with the next open.
    static func write(_ marker: StoreMarker, in directory: Directory, through incoming: Directory) throws {
        try incoming.rename(try write(marker, to: incoming), to: directory, as: name)
        try directory.synchronize()
    }

    /// Returns the name of the durable file.
    private static func write(_ marker: StoreMarker, to incoming: Directory) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let text = try encoder.encode(marker)
        let temporary = "\(name).\(FileID.make().text)"
        let file = try incoming.create(temporary)
        try text.withUnsafeBytes { try file.write($0) }
        try file.synchronize()
        return temporary
    }
}
