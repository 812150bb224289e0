import Foundation
import LFS
import LFSSystem

/// The lock files below a folder, as another process sees them.
struct LockFiles {
    /// The locks that were free, and are held from now on.
    let taken: [FileLock]
    /// The paths of the files that someone else holds, relative to the folder.
    let held: [String]

    /// Locks every lock file below a folder.
    init(below folder: URL) throws {
        var taken: [FileLock] = []
        var held: [String] = []
        for path in try FileManager.default.subpathsOfDirectory(atPath: folder.path) where path.hasSuffix(".lock") {
            let lock = FileLock(try Descriptor.openForReading(folder.appendingPathComponent(path).path))
            if try lock.tryLock(.exclusive) { taken.append(lock) } else { held.append(path) }
        }
        self.taken = taken
        self.held = held
    }

    /// The number of lock files: of the opened store, of the uploader, and of a staging area.
    static let count = 3
}

extension TestHost {
    /// Options with a persistence location, whose staging area has a lock of its own.
    func optionsWithLocation() throws -> LFSOptions {
        let location = folder.appendingPathComponent("staging")
        try FileManager.default.createDirectory(at: location, withIntermediateDirectories: true)
        var options = options
        options.persistenceLocation = location
        return options
    }
}
