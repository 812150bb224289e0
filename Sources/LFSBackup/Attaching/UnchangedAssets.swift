import GRDB
import LFS
import LFSDatabase

/// Which originals look as they did when they were read, while there is nothing to be said of their files: nearly all,
/// most of the time. Their rows are looked up and not read, so that a walk costs little more than the names it meets.
struct UnchangedAssets: Sendable {
    let unchanged: [Asset]
    /// Those of which more is to be known.
    let others: [Asset]

    /// - Parameter lost: files whose bytes are lost, whatever the database says of them.
    init(among assets: [Asset], _ host: BackupHost, lost: Set<FileData.ID>, _ db: Database) throws {
        let settled = try SourceTable.settled(assets.map(\.id.source), db)
        let fileIDs = assets.map { asset -> FileData.ID? in
            guard let settled = settled[asset.id.source], settled.stamp == asset.stamp.text else { return nil }
            return lost.contains(settled.fileID) ? nil : settled.fileID
        }
        let known = zip(assets, fileIDs).filter { $1 != nil }.map(\.0)
        let files = try host.files(of: known, db)
        var (unchanged, others): ([Asset], [Asset]) = ([], [])
        for (asset, id) in zip(assets, fileIDs) {
            // Where the app does not tell, there is no record that could have another.
            if let id, files.map({ $0[asset.id] == id }) ?? true {
                unchanged.append(asset)
            } else {
                others.append(asset)
            }
        }
        (self.unchanged, self.others) = (unchanged, others)
    }
}
