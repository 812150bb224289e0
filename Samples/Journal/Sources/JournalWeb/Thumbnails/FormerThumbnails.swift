public import Foundation

/// The folder in which earlier versions of the journal have kept their small pictures: `<database>.thumbnails`.
public enum FormerThumbnails {
    /// Removes it, with the files that those versions have made. Anything else in it stays, and the folder then, too.
    ///
    /// - Parameter database: the journal's.
    /// - Throws: the system's error. Without such a folder nothing happens, and no link is followed.
    public static func remove(beside database: URL) throws {
        let folder = URL(filePath: database.path + ".thumbnails", directoryHint: .isDirectory)
        let type = try? FileManager.default.attributesOfItem(atPath: folder.path)[.type] as? FileAttributeType
        guard type == .typeDirectory else { return }
        for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) where isOurs(name) {
            try FileManager.default.removeItem(at: folder.appending(path: name))
        }
        guard rmdir(folder.path) == 0 || errno == ENOTEMPTY else {
            throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
        }
    }

    /// `new-{UUID}.jpg` while it was made, and then `{SHA-256}.jpg`.
    private static func isOurs(_ name: String) -> Bool {
        guard name.hasSuffix(".jpg") else { return false }
        let stem = name.dropLast(4)
        if stem.hasPrefix("new-") { return UUID(uuidString: String(stem.dropFirst(4))) != nil }
        return stem.utf8.count == 64 && stem.utf8.allSatisfy { "0123456789abcdef".utf8.contains($0) }
    }
}
