import GRDB
import LFS
import LFSDatabase
import LFSSystem

/// A classification of originals by their stamps. Usually almost all originals are unchanged. Their rows are
/// only looked up by a small query, so a walk costs little more than reading the names.
struct UnchangedAssets: Sendable {
    private(set) var unchanged: [Asset] = []
    /// The originals that need a detailed lookup.
    private(set) var others: [Asset] = []

    /// The maximum number of originals in one statement.
    private static let portion = 512

    /// Looks up the originals in concurrent portions, because one connection uses only one processor.
    ///
    /// - Parameter lost: files whose bytes are lost, whatever the database says.
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
            // If the app does not provide its records, no record can contradict the row.
            if let id, files.map({ $0[asset.id] == id }) ?? true {
                unchanged.append(asset)
            } else {
                others.append(asset)
            }
        }
    }
}
