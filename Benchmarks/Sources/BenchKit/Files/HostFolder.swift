import Foundation

/// The folder of a ``HostDatabase``.
enum HostFolder {
    /// Copies a database that nobody has open, without the bytes of its files: as on a device that has the rows and has
    /// fetched nothing yet.
    ///
    /// Files that are freed instead would slow down what comes after them: for some minutes ext4 passes over each inode
    /// that was given back, one by one, whenever it makes a file near by.
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
