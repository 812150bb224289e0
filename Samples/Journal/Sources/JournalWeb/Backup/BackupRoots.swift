import Foundation

/// The folders in which folders may be backed up, as whoever runs the server has named them, and what is never.
public struct BackupRoots: Sendable {
    /// As they were named.
    let names: [String]
    private let own: [String]

    /// Folders, by absolute paths. They need not be there yet: they are looked up at each run.
    ///
    /// - Parameters:
    ///   - names: in which pictures may be looked for.
    ///   - own: what the journal itself has: the database, the storage, secrets.
    public init(_ names: [String], excluding own: [String]) { (self.names, self.own) = (names, own) }

    /// Where they are now.
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
    /// What the journal has, as it was named, and where it is.
    let own: [String]
    let ownPaths: [String]

    /// The real path of a folder that somebody has named.
    ///
    /// - Throws: ``WebError/Code/badRequest`` for what is no path, is not there, or lies outside of the roots.
    func folder(_ path: String) throws(WebError) -> String {
        let shown = String(
            path.prefix(80).unicodeScalars.filter { $0.value >= 0x20 && $0.value != 0x7f }.map(Character.init))
        guard path.hasPrefix("/"), path.utf8.count < 4_096, path.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7f }),
            !path.split(separator: "/").contains("..")
        else {
            throw WebError(
                .badRequest, "'\(shown)' is no path of a folder. Write it from the first / on, without '..'.")
        }
        guard let real = Self.real(path), holds(real) else {
            throw WebError(
                .badRequest,
                """
                '\(shown)' is no folder in \(names.joined(separator: ", ")). Name one there, or more with \
                --backup-root.
                """
            )
        }
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: real, isDirectory: &isFolder), isFolder.boolValue else {
            throw WebError(.badRequest, "'\(shown)' is no folder. Name the folder that it is in.")
        }
        return real
    }

    /// Whether a path leads to something below a root that is not the journal's own, with all links followed.
    func leads(_ path: String) -> Bool { Self.real(path).map(holds) ?? false }

    private func holds(_ real: String) -> Bool {
        roots.contains { Self.isInside(real, $0) } && !ownPaths.contains { Self.isInside(real, $0) }
    }

    private static func isInside(_ path: String, _ folder: String) -> Bool {
        path == folder || path.hasPrefix(folder == "/" ? "/" : folder + "/")
    }

    /// nil when there is nothing.
    static func real(_ path: String) -> String? {
        guard let real = realpath(path, nil) else { return nil }
        defer { free(real) }
        return String(validatingCString: real)
    }
}
