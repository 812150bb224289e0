#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A path as a database stores it: relative to the database's folder if both are in one container, so that the
/// container can move as a whole. Other paths are stored as they are.
///
/// A container is the folder of the database, or a folder that an Apple system gives to an app, an extension or an app
/// group. Its path contains an id that changes with updates, restores and runs of the simulator.
package enum StoredPath {
    /// Returns the form to store, which begins with `./` or `../` if it is relative.
    ///
    /// - Parameters:
    ///   - path: an absolute path. Its links are followed, because SQLite reports the database's path without links.
    ///   - databasePath: the file of the database as SQLite reports it. Empty for one in memory.
    package static func stored(_ path: String, databasePath: String) -> String {
        guard let folder = folder(of: databasePath) else { return path }
        let target = components(resolved(path))
        let common = zip(folder, target).prefix { isSame($0, as: $1) }.count
        if common == folder.count, target.count > common { return "./" + target[common...].joined(separator: "/") }
        guard let container = containerCount(folder), common >= container, target.count > common else { return path }
        let up = [Substring](repeating: "..", count: folder.count - common)
        return (up + target[common...]).joined(separator: "/")
    }

    /// Returns the absolute path of a stored form. Returns other text unchanged.
    package static func path(ofStored stored: String, databasePath: String) -> String {
        guard let folder = folder(of: databasePath) else { return stored }
        var parts = stored.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count > 1, let first = parts.first, first == "." || first == ".." else { return stored }
        if first == "." { parts.removeFirst() }
        let up = parts.prefix { $0 == ".." }.count
        let rest = parts.dropFirst(up)
        guard up < folder.count, !rest.isEmpty, !rest.contains(where: { ["", ".", ".."].contains($0) }) else {
            return stored
        }
        return "/" + (folder.dropLast(up) + rest).joined(separator: "/")
    }

    /// Returns the path without links. Components that do not exist stay as they are.
    static func resolved(_ path: String) -> String {
        if let real = realpath(path, nil) {
            defer { free(real) }
            return String(cString: real)
        }
        guard let slash = path.utf8.lastIndex(of: 0x2F), slash != path.startIndex else { return path }
        return resolved(String(path[..<slash])) + path[slash...]
    }

    /// The components of the database's folder. Nil for a database in memory.
    private static func folder(of databasePath: String) -> [Substring]? {
        guard databasePath.utf8.first == 0x2F else { return nil }
        let folder = components(databasePath).dropLast()
        return folder.isEmpty ? nil : Array(folder)
    }

    private static func components(_ path: String) -> [Substring] {
        path.split(separator: "/").filter { $0 != "." }
    }

    /// The comparison of Swift treats texts as equal that are different names for a file system.
    private static func isSame(_ one: Substring, as other: Substring) -> Bool { one.utf8.elementsEqual(other.utf8) }

    /// Returns the number of components of the container's path. Nil if the folder is in no container.
    ///
    /// Sources: Apple, "File System Programming Guide" (iOS: `Containers/Data/Application/<id>`,
    /// `Containers/Shared/AppGroup/<id>`, macOS: `Library/Containers/<bundle id>`, `Library/Group Containers/<id>`).
    private static func containerCount(_ folder: [Substring]) -> Int? {
        for (index, part) in folder.enumerated() {
            let rest = folder[(index + 1)...]
            if part == "Containers", let kind = rest.first, kind == "Data" || kind == "Shared", rest.count >= 3 {
                return index + 4
            }
            let isInLibrary = index > 0 && folder[index - 1] == "Library"
            if isInLibrary, part == "Containers" || part == "Group Containers", !rest.isEmpty { return index + 2 }
        }
        return nil
    }
}
