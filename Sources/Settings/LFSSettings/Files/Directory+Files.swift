import LFSFiles
import LFSSystem

extension Directory {
    /// Creates a file durably. If a file of that name exists by then, it is kept.
    ///
    /// - Parameter temporary: the name under which the file is written. A crash may leave a file of this name.
    func makeFile(_ name: String, under temporary: String, bytes: UnsafeRawBufferPointer) throws {
        let file = try create(temporary)
        do {
            try file.write(bytes)
            try file.synchronize()
            try renameExclusively(temporary, to: self, as: name)
        } catch {
            // The original error is the one to report. A leftover file is the same as after a crash.
            _ = Result { try remove(temporary) }
            guard error.isExisting else { throw error }
        }
        try synchronize()
    }

    /// Removes the files whose names match a condition, such as files that a crash left.
    func removeFiles(where isLeft: (String) -> Bool) throws {
        var names: [String] = []
        try forEachFile { name in
            if isLeft(name) { names.append(name) }
            return true
        }
        for name in names { try remove(name) }
    }
}
