import Foundation
import LFSSystem

/// Paths and names of files and folders.
enum Path {
    /// The same path without what means nothing in it: slashes beside each other and at the end, and points. Links are
    /// not followed, and nothing is looked up.
    static func canonical(_ path: String) -> String {
        "/" + path.split(separator: "/").filter { $0 != "." }.joined(separator: "/")
    }

    /// Returns the path relative to a folder. Links are followed in the folders of both.
    ///
    /// - Parameter folder: an absolute path.
    static func relative(_ path: String, to folder: String) -> String {
        let (parent, name) = ((path as NSString).deletingLastPathComponent, (path as NSString).lastPathComponent)
        let (parts, base) = (resolved(parent), resolved(folder))
        let common = zip(parts, base).prefix { $0 == $1 }.count
        let up = [Substring](repeating: "..", count: base.count - common)
        return (up + parts.dropFirst(common) + [Substring(name)]).joined(separator: "/")
    }

    private static func resolved(_ folder: String) -> [Substring] {
        URL(fileURLWithPath: folder).resolvingSymlinksInPath().path.split(separator: "/")
    }

    /// Whether a name is that beginning, an id and that ending: of a file that is being made, and not of another one
    /// whose name begins alike.
    static func isMade(_ name: String, _ beginning: String, ending: String = "") -> Bool {
        guard name.hasPrefix(beginning), name.hasSuffix(ending),
            name.utf8.count > beginning.utf8.count + ending.utf8.count
        else { return false }
        return FileID(text: String(name.dropFirst(beginning.count).dropLast(ending.count))) != nil
    }

    /// - Throws: ``SettingsError/Code/notConfigured``: another path means another file once the process has changed its
    ///   folder.
    static func requireAbsolute(_ path: String, _ what: String) throws(SettingsError) {
        guard path.hasPrefix("/"), !path.utf8.contains(0) else {
            throw SettingsError(
                .notConfigured,
                "\(what) has to be an absolute path, which means the same file whatever folder the process is in.")
        }
    }
}
