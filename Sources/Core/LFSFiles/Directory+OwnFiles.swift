package import LFSSystem

/// Functions on folders that the store and the staging areas share.
extension Directory {
    /// Opens the folder at a path. Returns nil if the path does not exist.
    package static func find(_ path: String) throws(SystemError) -> Directory? {
        do {
            return try open(path)
        } catch let error where error.isMissing {
            return nil
        }
    }

    /// Opens an entry of any type for reading. Returns nil if the name does not exist.
    package func findFile(_ name: String) throws(SystemError) -> Descriptor? {
        do {
            return try openForReading(name)
        } catch let error where error.isMissing {
            return nil
        }
    }

    /// Opens a regular file for reading. Returns nil if the name does not exist or belongs to something else.
    func openRegular(_ name: String) throws(SystemError) -> Descriptor? {
        do {
            let file = try openForReading(name)
            return try file.status().isRegularFile ? file : nil
        } catch let error where error.isMissing || error.isSymbolicLink || error.isNoFile {
            return nil
        }
    }

    /// Returns true if the folder contains an entry whose name starts with a file id.
    func holdsFiles() throws -> Bool {
        var isFound = false
        try forEachFile { name in
            isFound = FileID(text: String(name.prefix(36))) != nil
            return !isFound
        }
        return isFound
    }

    /// Returns true if the folder contains no entries other than these names.
    func holdsOnly(_ names: [String]) throws -> Bool {
        var isAlone = true
        try forEachFile { name in
            isAlone = names.contains(name)
            return isAlone
        }
        return isAlone
    }
}
