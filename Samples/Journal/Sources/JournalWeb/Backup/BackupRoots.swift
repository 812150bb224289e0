import Foundation

/// The folders in which folders may be backed up, as the operator of the server has set them, and the folders that are
/// always excluded.
public struct BackupRoots: Sendable {
    /// The paths as they were given.
    let names: [String]
    private let own: [String]

    /// Creates the set of folders from absolute paths. The folders may not exist yet: they are resolved at each run.
    ///
    /// - Parameters:
    ///   - names: The folders that may contain pictures.
    ///   - own: The journal's own paths: the database, the storage, secrets.
    public init(_ names: [String], excluding own: [String]) { (self.names, self.own) = (names, own) }

    /// Returns the folders with their current real paths.
    func resolved() -> ResolvedRoots {
        ResolvedRoots(
            names: names, roots: names.compactMap(ResolvedRoots.real), own: own,
            ownPaths: own.compactMap(ResolvedRoots.real))
    }
}

/// The roots by their real paths, for one run.
struct ResolvedRoots: Sendable {
    let names: [String]
    let roots: [String]
    /// The journal's own paths, as they were given and as real paths.
    let own: [String]
    let ownPaths: [String]

    /// Returns the real path of a folder that a user has entered.
    ///
    /// - Throws: ``WebError/Code/badRequest`` if the path is invalid, does not exist, or lies outside of the roots.
    func folder(_ path: String) throws(WebError) -> String {
        let shown = String(
            path.prefix(80).unicodeScalars.filter { $0.value >= 0x20 && $0.value != 0x7f }.map(Character.init))
        guard path.hasPrefix("/"), path.utf8.count < 4_096, path.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7f }),
            !path.split(separator: "/").contains("..")
        else {
            throw WebError(
                .badRequest, message: "'\(shown)' is not a path of a folder. Begin with /, without '..'.")
        }
        guard let real = Self.real(path), holds(real) else {
            throw WebError(
                .badRequest,
                message: """
                    '\(shown)' is not a folder in \(names.joined(separator: ", ")). Choose one there, or add \
                    another --backup-root.
                    """
            )
        }
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: real, isDirectory: &isFolder), isFolder.boolValue else {
            throw WebError(.badRequest, message: "'\(shown)' is not a folder. Name the folder that contains it.")
        }
        return real
    }

    /// Returns true if a path, with all links followed, leads into a root and not to one of the journal's own paths.
    func leads(_ path: String) -> Bool { Self.real(path).map(holds) ?? false }

    private func holds(_ real: String) -> Bool {
        roots.contains { Self.isInside(real, folder: $0) } && !ownPaths.contains { Self.isInside(real, folder: $0) }
    }

    /// Compares bytes. For `hasPrefix`, two folders with equivalent Unicode names are the same.
    static func isInside(_ path: String, folder: String) -> Bool {
        path.utf8.elementsEqual(folder.utf8) || path.utf8.starts(with: (folder == "/" ? "/" : folder + "/").utf8)
    }

    /// Returns the real path, or nil if the path does not exist.
    static func real(_ path: String) -> String? {
        guard let real = realpath(path, nil) else { return nil }
        defer { free(real) }
        return String(validatingCString: real)
    }
}
