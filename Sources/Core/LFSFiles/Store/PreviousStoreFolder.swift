package import LFSSystem

/// A folder of this database other than the opened store. Files are read from it, and nothing in it is changed.
package final class PreviousStoreFolder: Sendable {
    package let path: String
    private let folders: [Directory]

    init(_ path: String, folders: [Directory]) {
        self.path = path
        self.folders = folders
    }

    /// Opens a file for reading. Returns nil if it does not exist.
    package func open(_ id: FileID) throws(SystemError) -> Descriptor? {
        for folder in folders {
            if let file = try folder.openRegular(id.text) { return file }
        }
        return nil
    }
}
