import LFSDatabase
import LFSFiles
import LFSSystem

/// A search for the bytes of a file that no known place has. Absent places may be back, and a place that is still
/// absent may have the bytes.
struct MissingFileSearch: Sendable {
    let runner: BackgroundRunner
    let places: FileLocations

    enum Finding: Sendable {
        case here
        /// A sentence about the first absent place that may have the bytes.
        case away(String)
        case nowhere
    }

    /// Searches for the bytes of a file that this database made.
    func search(for id: FileID) async throws -> Finding {
        try await refreshPlaces()
        let (places, store) = (places, places.store)
        return try await BlockingPool.shared.run { _ in
            if try places.contains(id) { return .here }
            try places.addStoreInPlace()
            if try places.contains(id) { return .here }
            if let place = places.closed.first {
                return .away("The bytes of the file may be in \(place.path). \(place.reason)")
            }
            do {
                try store.requireUnchanged()
            } catch let error as FileError where error.code == .wrongStore {
                return .away(error.message)
            }
            guard try store.followsAnother() else { return .nowhere }
            return .away(Self.storeIsAway(store.path))
        }
    }

    /// Searches every location that the database knows. Returns whether the disk of a used location is gone.
    @discardableResult
    func refreshPlaces() async throws -> Bool {
        let paths = try await runner.read(LocationTable.paths)
        let places = places
        return try await BlockingPool.shared.run { _ in places.add(paths) }
    }

    /// Returns the places that were absent at the last search, with a sentence for each.
    func absent() async throws -> [UnavailableLocation] {
        let (places, store) = (places, places.store)
        return try await BlockingPool.shared.run { _ in
            guard try store.followsAnother() else { return places.closed }
            let error = FileError(.folderAbsent, message: Self.storeIsAway(store.path), path: store.path)
            return places.closed + [UnavailableLocation(store.path, error: error)]
        }
    }

    private static func storeIsAway(_ path: String) -> String {
        """
        The database was used with a different folder than the one at \(path). That folder may have the bytes of \
        the file. Is its disk mounted? Put it back, then open the database again.
        """
    }
}
