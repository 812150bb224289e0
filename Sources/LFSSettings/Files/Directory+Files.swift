import LFSFiles
import LFSSystem

extension Directory {
    /// Makes a file durably, unless there is one with its name by now: then that one counts.
    ///
    /// - Parameter temporary: the name under which it comes about. A crash may leave it.
    func makeFile(_ name: String, under temporary: String, _ bytes: UnsafeRawBufferPointer) throws {
        let file = try create(temporary)
        do {
            try file.write(bytes)
            try file.synchronize()
            try renameExclusively(temporary, to: self, as: name)
        } catch {
            // Why it failed is what counts: what stays is as if a crash had left it.
            _ = Result { try remove(temporary) }
            guard error.isExisting else { throw error }
        }
        try synchronize()
    }

    /// Removes the files whose names a condition picks, such as those that a crash has left.
    func removeFiles(where isLeft: (String) -> Bool) throws {
        var names: [String] = []
        try forEachFile { name in
            if isLeft(name) { names.append(name) }
            return true
        }
        for name in names { try remove(name) }
    }
}
