package import LFSSystem

/// What the store and the staging areas ask of a folder.
extension Directory {
    /// The folder at a path; nil when nothing is there.
    package static func find(_ path: String) throws(SystemError) -> Directory? {
        do {
            return try open(path)
        } catch let error where error.isMissing {
            return nil
        }
    }

    /// Opens a file for reading, whatever it is; nil when nothing has the name.
    package func findFile(_ name: String) throws(SystemError) -> Descriptor? {
        do {
            return try openForReading(name)
        } catch let error where error.isMissing {
            return nil
        }
    }

    /// Opens a regular file for reading; nil when there is nothing of that name, or something else.
    func openRegular(_ name: String) throws(SystemError) -> Descriptor? {
        do {
            let file = try openForReading(name)
            return try file.status().isRegularFile ? file : nil
        } catch let error where error.isMissing || error.isSymbolicLink || error.isNoFile {
            return nil
        }
    }

    /// Whether there is anything in it that is named as a file of ours.
    func holdsFiles() throws -> Bool {
        var isFound = false
        try forEachFile { name in
            isFound = FileID(text: String(name.prefix(36))) != nil
            return !isFound
        }
        return isFound
    }

    /// Whether there is nothing in it but what has one of these names.
    func holdsOnly(_ names: [String]) throws -> Bool {
        var isAlone = true
        try forEachFile { name in
            isAlone = names.contains(name)
            return isAlone
        }
        return isAlone
    }
}
