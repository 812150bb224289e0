package import LFSSystem

/// A folder of this database that is not the store that was opened. Files are read from it; nothing in it is changed.
package final class EarlierFolder: Sendable {
    package let path: String
    private let folders: [Directory]

    init(_ path: String, _ folders: [Directory]) {
        self.path = path
        self.folders = folders
    }

    /// Opens a file for reading; nil when it is not there.
    package func open(_ id: FileID) throws(SystemError) -> Descriptor? {
        for folder in folders {
            if let file = try folder.openRegular(id.text) { return file }
        }
        return nil
    }
}
