import LFSSystem

/// Collects the first keys of a folder tree after a given one, in the order of their bytes, in bounded memory.
struct DirectoryListing {
    private let request: ListRequest
    private let flag: CancellationFlag
    private var keys: [ObjectKey] = []

    init(_ request: ListRequest, _ flag: CancellationFlag) {
        self.request = request
        self.flag = flag
    }

    /// One key more than the page holds, if there are so many.
    var page: [ObjectKey] { Self.first(request.limit + 1, of: keys) }

    /// Goes through a folder whose keys begin with `path`, which is empty or ends with a slash.
    mutating func visit(_ folder: Directory, below path: String) throws {
        try flag.check()
        var subfolders: [String] = []
        var found: [ObjectKey] = []
        try folder.forEachFile { name in
            let text = path + name
            guard let key = ObjectKey(listed: text) else { return true }  // not ours: a part, a note, a hidden file
            switch try folder.status(of: name) {
            case let status? where status.isDirectory:
                if request.prefix.hasPrefix(text + "/") || text.hasPrefix(request.prefix)
                    || (text + "/").hasPrefix(request.prefix)
                {
                    subfolders.append(name)
                }
            case let status? where status.isRegularFile && text.hasPrefix(request.prefix) && isAfterContinuation(text):
                found.append(key)
            default: break
            }
            if found.count > 4 * (request.limit + 1) { found = Self.first(request.limit + 1, of: found) }
            return true
        }
        keys = Self.first(request.limit + 1, of: keys + found)
        for name in subfolders {
            do {
                try visit(folder.openFolder(name), below: path + name + "/")
            } catch let error as SystemError where error.isMissing {
                continue  // removed since its name was read
            }
        }
    }

    private func isAfterContinuation(_ key: String) -> Bool {
        request.continuation.map { key.utf8.lexicographicallyPrecedes($0.utf8) == false && key != $0 } ?? true
    }

    private static func first(_ count: Int, of keys: [ObjectKey]) -> [ObjectKey] {
        Array(keys.sorted { $0.rawValue.utf8.lexicographicallyPrecedes($1.rawValue.utf8) }.prefix(count))
    }
}
