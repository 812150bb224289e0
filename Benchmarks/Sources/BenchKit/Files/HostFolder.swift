import Foundation

/// Operations on the folder of a ``HostDatabase``.
enum HostFolder {
    /// Copies a closed database without the bytes of its files. The copy is like a device that has the rows and has not
    /// downloaded any file.
    ///
    /// Freed files instead would slow down later steps. For some minutes, ext4 skips each freed inode one by one
    /// whenever it creates a file nearby.
    static func copyWithoutFiles(from source: String, to target: String) throws {
        let manager = FileManager.default
        let store = "host.sqlite.lfs"
        for name in try manager.contentsOfDirectory(atPath: source) where name != store {
            try manager.copyItem(atPath: "\(source)/\(name)", toPath: "\(target)/\(name)")
        }
        try manager.createDirectory(
            atPath: "\(target)/\(store)", withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        for name in try manager.contentsOfDirectory(atPath: "\(source)/\(store)") where UUID(uuidString: name) == nil {
            try manager.copyItem(atPath: "\(source)/\(store)/\(name)", toPath: "\(target)/\(store)/\(name)")
        }
    }
}
