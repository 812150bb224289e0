/// The folders that are watched, and what the events of the kernel mean for their paths.
struct WatchedFolders: Sendable {
    /// Which names in a folder count.
    enum Names: Hashable, Sendable {
        case all
        case only(Set<[UInt8]>)

        func contains(_ name: [UInt8]) -> Bool {
            if case .only(let names) = self { names.contains(name) } else { true }
        }

        func union(_ other: Names) -> Names {
            guard case .only(let left) = self, case .only(let right) = other else { return .all }
            return .only(left.union(right))
        }
    }

    /// The paths that lead to a folder. Mostly there is one.
    private var places: [Int32: [AssetName: Names]] = [:]
    /// Those that a person has named, or that hold a file that was named.
    private var roots: Set<AssetName> = []

    var count: Int { places.count }

    /// - Parameter isRoot: whether nothing above it is watched.
    mutating func add(_ folder: Int32, at path: AssetName, _ names: Names = .all, isRoot: Bool = false) {
        if isRoot { roots.insert(path) }
        places[folder, default: [:]].merge([path: names]) { $0.union($1) }
    }

    /// Forgets a folder and all in it.
    ///
    /// - Returns: those that no other path leads to: they need not be watched any more.
    mutating func leave(_ path: AssetName) -> [Int32] {
        let beginning = path.appending([]).bytes
        var left: [Int32] = []
        for (folder, paths) in places {
            let stay = paths.filter { $0.key != path && !$0.key.bytes.starts(with: beginning) }
            if stay.count == paths.count { continue }
            places[folder] = stay.isEmpty ? nil : stay
            if stay.isEmpty { left.append(folder) }
        }
        return left
    }

    /// What an event means.
    mutating func changes(of event: InotifyEvent) -> [FolderChange] {
        let kind = event.kind
        if kind.contains(.overflow) { return [.lost] }
        guard let paths = places[event.folder] else { return [] }
        if kind.contains(.ended) { places[event.folder] = nil }
        guard event.name.isEmpty else { return paths.compactMap { change(event, in: $0.key, $0.value) } }
        // A folder within others is told of by the one above it.
        if kind.contains(.unmounted) { return paths.keys.map(FolderChange.gone) }
        guard !kind.isDisjoint(with: [.selfDeleted, .selfMoved]) else { return [] }
        return paths.keys.filter(roots.contains).map(FolderChange.gone)
    }

    private func change(_ event: InotifyEvent, in folder: AssetName, _ names: Names) -> FolderChange? {
        let (kind, path) = (event.kind, folder.appending(event.name))
        guard names.contains(event.name) else { return nil }
        if kind.contains(.ofFolder) {
            // Of a folder with a file that was named no other is followed.
            if names != .all { return nil }
            if !kind.isDisjoint(with: [.created, .movedHere]) { return .folder(path) }
            return kind.contains(.movedAway) ? .left(path) : nil
        }
        if !kind.isDisjoint(with: [.closedAfterWriting, .movedHere]) { return .written(path) }
        return kind.contains(.created) ? .created(path) : nil
    }
}

/// What has happened in the folders that are watched.
enum FolderChange: Hashable, Sendable {
    /// A file was closed by whoever has written it, or moved here.
    case written(AssetName)
    /// A name was made: that of a file which is about to be written, or one more of a file that is there.
    case created(AssetName)
    /// A folder is new here.
    case folder(AssetName)
    /// A folder is not here any more.
    case left(AssetName)
    /// A folder that was named itself, or a file system, is not there any more.
    case gone(AssetName)
    /// Something, which was not told.
    case lost

    /// What is there now; nil where nothing is.
    var arrival: AssetName? {
        switch self {
        case .written(let name), .created(let name), .folder(let name): name
        case .left, .gone, .lost: nil
        }
    }
}
