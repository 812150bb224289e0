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

extension Directory {
    /// Opens a regular file for reading; nil when there is nothing of that name, or something else.
    func openRegular(_ name: String) throws(SystemError) -> Descriptor? {
        do {
            let file = try openForReading(name)
            return try file.status().isRegularFile ? file : nil
        } catch let error where error.isMissing || error.isSymbolicLink || error.isNoFile {
            return nil
        }
    }
}
