import GRDB
import LFSBackup

/// Counts beside a push what there is to read, so that the progress line can tell how long it takes.
struct Forecast: Sendable {
    let database: any DatabaseReader
    let source: FolderSource
    let report: Report

    private static let page = 500
    /// Less is read before it is counted.
    private static let leastBytes: Int64 = 32 << 20

    /// Returns when it is told, or when its task is cancelled. What it cannot look at it leaves out: the push tells it.
    func run() async {
        do {
            // A walk that finds nothing to read is not to be slowed down.
            while report.tally.foundBytes - report.tally.readBytes < Self.leastBytes {
                try await Task.sleep(for: .milliseconds(200))
            }
            var walk = try source.makeWalk()
            var (assets, bytes): ([Asset], Int64) = ([], 0)
            while let item = walk.next() {
                guard case .asset(let asset) = item else { continue }
                assets.append(asset)
                if assets.count < Self.page { continue }
                try Task.checkCancellation()
                bytes = bytes.addingSaturated(try await unread(assets))
                assets = []
            }
            bytes = bytes.addingSaturated(try await unread(assets))
            report.expects(bytes)
        } catch {
            // Without it no time is told.
        }
    }

    private func unread(_ assets: [Asset]) async throws -> Int64 {
        let notes = try await database.read { db in try BackupNotes.notes(of: assets.map(\.id), db) }
        return assets.reduce(0) { sum, asset in
            notes[asset.id]?.stamp == asset.stamp.text ? sum : sum.addingSaturated(asset.stamp.byteCount ?? 0)
        }
    }
}
