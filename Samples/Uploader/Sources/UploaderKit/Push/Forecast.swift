import GRDB
import LFSBackup

/// A count of the bytes to read, which runs next to a push. With it, the progress line can show the remaining time.
struct Forecast: Sendable {
    let database: any DatabaseReader
    let source: FolderSource
    let report: Report

    private static let page = 500
    /// The minimum number of unread bytes for a count. Fewer bytes are read before they are counted.
    private static let leastBytes: Int64 = 32 << 20

    /// Returns when the count is reported, or when the task is cancelled. Skips unreadable files, which the push
    /// reports.
    func run() async {
        do {
            // A walk without files to read must not be slowed down.
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
            // Without the count, no remaining time is shown.
        }
    }

    private func unread(_ assets: [Asset]) async throws -> Int64 {
        let notes = try await database.read { db in try BackupHistory.notes(of: assets.map(\.id), db) }
        return assets.reduce(0) { sum, asset in
            notes[asset.id]?.stamp == asset.stamp.text ? sum : sum.addingSaturated(asset.stamp.byteCount ?? 0)
        }
    }
}
