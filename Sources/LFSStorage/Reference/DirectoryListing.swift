import LFSSystem

/// Collects the first keys of a folder tree after a given one, in the order of their bytes, in bounded memory.
struct DirectoryListing {
    private let request: ListRequest
    private let flag: CancellationFlag
    private var keys: [ObjectKey] = []

    private init(_ request: ListRequest, _ flag: CancellationFlag) {
        self.request = request
        self.flag = flag
    }

    /// The first keys of a request below a folder: one more than its limit, if there are so many. Blocks the thread.
    static func keys(of request: ListRequest, in root: Directory, _ flag: CancellationFlag) throws -> [ObjectKey] {
        var listing = DirectoryListing(request, flag)
        try listing.visit(root, below: "")
        return listing.page
    }

    private var page: [ObjectKey] { Self.first(request.limit + 1, of: keys) }

    /// Goes through a folder whose keys begin with `path`, which is empty or ends with a slash.
    private mutating func visit(_ folder: Directory, below path: String) throws {
        try flag.check()
        var subfolders: [String] = []
        var found: [ObjectKey] = []
        try folder.forEachFile { name in
            let text = path + name
            guard let key = ObjectKey(listed: text) else { return true }  // not ours: a part, a note, a hidden file
            guard mayLead(text) else { return true }
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
            if found.count > 2 * (request.limit + 1) { found = Self.first(request.limit + 1, of: found) }
            return true
        }
        keys = Self.first(request.limit + 1, of: keys + found)
        for name in subfolders.sorted() {
            // What is in it comes behind all that the page has room for.
            if keys.count > request.limit, let last = keys.last?.rawValue,
                last.utf8.lexicographicallyPrecedes((path + name + "/").utf8)
            {
                continue
            }
            do {
                try visit(folder.openFolder(name), below: path + name + "/")
            } catch let error as SystemError where error.isMissing {
                continue  // removed since its name was read
            }
        }
    }

    /// Whether a name can be that of a key of the page, or of a folder that has one: a look at the file costs more.
    private func mayLead(_ text: String) -> Bool {
        guard let continuation = request.continuation else { return true }
        return !text.utf8.lexicographicallyPrecedes(continuation.utf8) || continuation.utf8.starts(with: text.utf8)
    }

    private func isAfterContinuation(_ key: String) -> Bool {
        request.continuation.map { key.utf8.lexicographicallyPrecedes($0.utf8) == false && key != $0 } ?? true
    }

    private static func first(_ count: Int, of keys: [ObjectKey]) -> [ObjectKey] {
        Array(keys.sorted { $0.rawValue.utf8.lexicographicallyPrecedes($1.rawValue.utf8) }.prefix(count))
    }
}
