/// The watched folders, which translate kernel events into changes of paths.
struct WatchedFolders: Sendable {
    /// The names in a folder that are watched.
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

    /// The paths that lead to each folder, usually one.
    private var places: [Int32: [AssetName: Names]] = [:]
    /// The selected folders, and the folders of selected files.
    private var roots: Set<AssetName> = []

    var count: Int { places.count }

    /// - Parameter isRoot: true if no folder above it is watched.
    mutating func add(_ folder: Int32, at path: AssetName, names: Names = .all, isRoot: Bool = false) {
        if isRoot { roots.insert(path) }
        places[folder, default: [:]].merge([path: names]) { $0.union($1) }
    }

    /// Removes a folder and all folders in it.
    ///
    /// - Returns: the folders that no other path leads to. Their watches can be removed.
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

    /// Translates an event into changes.
    mutating func changes(of event: InotifyEvent) -> [FolderChange] {
        let kind = event.kind
        if kind.contains(.overflow) { return [.lost] }
        guard let paths = places[event.folder] else { return [] }
        if kind.contains(.ended) { places[event.folder] = nil }
        guard event.name.isEmpty else { return paths.compactMap { change(event, in: $0.key, names: $0.value) } }
        // The watch on the parent reports changes of a nested folder.
        if kind.contains(.unmounted) { return paths.keys.map(FolderChange.gone) }
        guard !kind.isDisjoint(with: [.selfDeleted, .selfMoved]) else { return [] }
        return paths.keys.filter(roots.contains).map(FolderChange.gone)
    }

    private func change(_ event: InotifyEvent, in folder: AssetName, names: Names) -> FolderChange? {
        let (kind, path) = (event.kind, folder.appending(event.name))
        guard names.contains(event.name) else { return nil }
        if kind.contains(.ofFolder) {
            // In the folder of a selected file, other folders are not followed.
            if names != .all { return nil }
            if !kind.isDisjoint(with: [.created, .movedHere]) { return .folder(path) }
            return kind.contains(.movedAway) ? .left(path) : nil
        }
        if !kind.isDisjoint(with: [.closedAfterWriting, .movedHere]) { return .written(path) }
        return kind.contains(.created) ? .created(path) : nil
    }
}

/// A change in the watched folders.
enum FolderChange: Hashable, Sendable {
    /// A file was closed after writing, or moved to this path.
    case written(AssetName)
    /// A name was created, for a file that is about to be written or as an additional hard link.
    case created(AssetName)
    /// A folder was created or moved to this path.
    case folder(AssetName)
    /// A folder was moved away.
    case left(AssetName)
    /// A selected folder or a file system no longer exists.
    case gone(AssetName)
    /// Changes were lost.
    case lost

    /// The path that exists after the change, or nil.
    var arrival: AssetName? {
        switch self {
        case .written(let name), .created(let name), .folder(let name): name
        case .left, .gone, .lost: nil
        }
    }
}
