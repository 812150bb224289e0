import GRDB
import LFS
import LFSDatabase
import LFSSystem

/// Which originals look as they did when they were read, while there is nothing to be said of their files: nearly all,
/// most of the time. Their rows are looked up and not read, so that a walk costs little more than the names it meets.
struct UnchangedAssets: Sendable {
    private(set) var unchanged: [Asset] = []
    /// Those of which more is to be known.
    private(set) var others: [Asset] = []

    /// How many are looked up in one statement.
    private static let portion = 512

    /// Looks them up in portions beside each other, since a connection keeps one processor busy.
    ///
    /// - Parameter lost: files whose bytes are lost, whatever the database says of them.
    init(
        among assets: [Asset], _ host: BackupHost, lost: Set<FileData.ID>, in database: any DatabaseReader
    ) async throws {
        let portions = assets.chunks(of: Self.portion).map(Array.init)
        let found = try await withThrowingTaskGroup(of: (Int, UnchangedAssets).self) { group in
            for (index, portion) in portions.enumerated() {
                group.addTask {
                    (index, try await database.read { try UnchangedAssets(among: portion, host, lost: lost, $0) })
                }
            }
            return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
        for found in portions.indices.compactMap({ found[$0] }) {
            unchanged += found.unchanged
            others += found.others
        }
    }

    private init(among assets: [Asset], _ host: BackupHost, lost: Set<FileData.ID>, _ db: Database) throws {
        let settled = try SourceTable.settled(assets.map { $0.id.source }, db)
        let fileIDs = assets.map { asset -> FileData.ID? in
            guard let settled = settled[asset.id.source], settled.stamp == asset.stamp.text else { return nil }
            return lost.contains(settled.fileID) ? nil : settled.fileID
        }
        let known = zip(assets, fileIDs).filter { $1 != nil }.map { $0.0 }
        let files = try host.files(of: known, db)
        for (asset, id) in zip(assets, fileIDs) {
            // Where the app does not tell, there is no record that could have another.
            if let id, files.map({ $0[asset.id] == id }) ?? true {
                unchanged.append(asset)
            } else {
                others.append(asset)
            }
        }
    }
}
