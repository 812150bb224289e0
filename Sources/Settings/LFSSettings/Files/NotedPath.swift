import Foundation
import LFSSystem

/// A path as the database stores it: relative to the database's folder if it lies inside, so that an app can move its
/// folder as a whole. Other paths are stored as they are.
enum NotedPath {
    private static let mark = "./"

    /// Returns the form to store.
    ///
    /// - Parameter databasePath: the file of the database; empty for one in memory.
    static func note(of path: String, databasePath: String) -> String {
        guard let folder = folder(of: databasePath), let rest = path.text(afterPrefix: folder) else { return path }
        return mark + rest
    }

    /// Returns the path behind a stored form.
    static func path(ofNote note: String, databasePath: String) -> String {
        guard let rest = note.text(afterPrefix: mark), let folder = folder(of: databasePath) else { return note }
        return folder + rest
    }

    /// The database's folder with a slash at the end.
    private static func folder(of databasePath: String) -> String? {
        guard let slash = databasePath.lastIndex(of: "/") else { return nil }
        return String(databasePath[...slash])
    }
}
