import LFSSystem

/// A collector of the first keys of a folder tree after a given key, in the order of their bytes and in bounded memory.
struct DirectoryListing {
    private let request: ListRequest
    private let flag: CancellationFlag
    private var first: FirstItems<ObjectKey>

    private init(_ request: ListRequest, flag: CancellationFlag) {
        self.request = request
        self.flag = flag
        first = FirstItems(of: request) { $0 }
    }

    /// Returns the first keys for a request: one more than its limit if there are enough. Blocks the thread.
    static func keys(of request: ListRequest, in root: Directory, _ flag: CancellationFlag) throws -> [ObjectKey] {
        var listing = DirectoryListing(request, flag: flag)
        try listing.visit(root, below: "")
        return listing.first.items
    }

    /// Visits a folder whose keys have the prefix `path`, which is empty or ends with a slash.
    private mutating func visit(_ folder: Directory, below path: String) throws {
        try flag.check()
        var subfolders: [String] = []
        try folder.forEachFile { name in
            let text = path + name
            guard let key = ObjectKey(listed: text) else { return true }  // such as a part or a hidden file
            // The checks on names come first, because reading a file's status costs more.
            guard request.asks(for: text) || request.mayLead(into: text + "/"),
                let status = try folder.status(of: name)
            else { return true }
            if status.isDirectory, request.mayLead(into: text + "/") { subfolders.append(name) }
            if status.isRegularFile { first.add(key) }
            return true
        }
        for name in subfolders.sorted() where !first.precedes(path + name + "/") {
            do {
                try visit(folder.openFolder(name), below: path + name + "/")
            } catch let error as SystemError where error.isMissing {
                continue  // removed after its name was read
            }
        }
    }
}
