import Foundation
import LFSSystem

enum Path {
    /// Returns the path without repeated and trailing slashes and `.` components. Links are not followed, and the file
    /// system is not read.
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

    /// Returns true if the name consists of that beginning, an id and that ending. Such a name belongs to a temporary
    /// file, and not to another file whose name begins the same way.
    static func isMade(_ name: String, beginning: String, ending: String) -> Bool {
        guard let rest = name.text(afterPrefix: beginning), rest.hasSuffix(ending) else { return false }
        return FileID(text: String(rest.dropLast(ending.count))) != nil
    }

    /// - Throws: ``SettingsError/Code/notConfigured``, because a relative path names another file after the process
    ///   changes its working directory.
    static func requireAbsolute(_ path: String, what: String) throws(SettingsError) {
        guard path.hasPrefix("/"), !path.utf8.contains(0) else {
            throw SettingsError(
                .notConfigured,
                message:
                    "\(what) has to be an absolute path, so that it does not depend on the working directory.")
        }
    }
}
