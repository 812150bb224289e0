import LFSSystem

/// Collects the first keys of a folder tree after a given one, in the order of their bytes, in bounded memory.
struct DirectoryListing {
    private let request: ListRequest
    private let flag: CancellationFlag
    private var first: FirstItems<ObjectKey>

    private init(_ request: ListRequest, _ flag: CancellationFlag) {
        self.request = request
        self.flag = flag
        first = FirstItems(of: request) { $0 }
    }

    /// The first keys of a request below a folder: one more than its limit, if there are so many. Blocks the thread.
    static func keys(of request: ListRequest, in root: Directory, _ flag: CancellationFlag) throws -> [ObjectKey] {
        var listing = DirectoryListing(request, flag)
        try listing.visit(root, below: "")
        return listing.first.items
    }

    /// Goes through a folder whose keys begin with `path`, which is empty or ends with a slash.
    private mutating func visit(_ folder: Directory, below path: String) throws {
        try flag.check()
        var subfolders: [String] = []
        try folder.forEachFile { name in
            let text = path + name
            guard let key = ObjectKey(listed: text) else { return true }  // not ours: a part, a note, a hidden file
            // A look at the file costs more.
            guard request.asks(for: text) || request.mayLead(into: text + "/"),
                let status = try folder.status(of: name)
            else { return true }
            if status.isDirectory, request.mayLead(into: text + "/") { subfolders.append(name) }
            if status.isRegularFile { first.add(key) }
            return true
        }
        for name in subfolders.sorted() where !first.areBefore(path + name + "/") {
            do {
                try visit(folder.openFolder(name), below: path + name + "/")
            } catch let error as SystemError where error.isMissing {
                continue  // removed since its name was read
            }
        }
    }
}
