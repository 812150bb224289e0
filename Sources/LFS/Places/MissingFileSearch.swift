import LFSDatabase
import LFSFiles
import LFSSystem

/// Looks again for bytes that are nowhere: places that were away may be back, and what is away may have them.
struct MissingFileSearch: Sendable {
    let runner: BackgroundRunner
    let places: FilePlaces

    enum Finding: Sendable {
        case here
        /// A sentence for the first of the places that may have them and are not there now.
        case away(String)
        case nowhere
    }

    /// Where the bytes of a file are that this database made.
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

    /// Looks at every location that the database knows. Returns whether the disk of one that was used has gone.
    @discardableResult
    func refreshPlaces() async throws -> Bool {
        let paths = try await runner.read(LocationTable.paths)
        let places = places
        return try await BlockingPool.shared.run { _ in places.add(paths) }
    }

    /// The places that were not there at the last look, with a sentence for each.
    func absent() async throws -> [ClosedPlace] {
        let (places, store) = (places, places.store)
        return try await BlockingPool.shared.run { _ in
            guard try store.followsAnother() else { return places.closed }
            let error = FileError(.folderAbsent, Self.storeIsAway(store.path), path: store.path)
            return places.closed + [ClosedPlace(store.path, error)]
        }
    }

    private static func storeIsAway(_ path: String) -> String {
        """
        The folder at \(path) was made, or put there, while the database was in use with another one, which may have \
        the bytes of the file. Is its disk mounted? Put it back, then open the database again.
        """
    }
}
