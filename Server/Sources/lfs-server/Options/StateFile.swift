import ArgumentParser
import Foundation
import LFSSigningServer
import LFSSyncServer

/// The file with the last mark of the database's history. It must not be restored together with the database.
struct StateFile: Sendable {
    private struct Content: Codable {
        var schema = 1
        var mark: SyncHistoryMark
    }

    let path: String

    /// Returns the default file of a database, or nil without a home folder. It is `lfs-server/HASH.json` in
    /// `$XDG_STATE_HOME` or `~/.local/state`.
    static func standard(
        forDatabase database: String, environment: [String: String] = ProcessInfo.processInfo.environment
    ) -> StateFile? {
        let home = environment["HOME"].flatMap { $0.hasPrefix("/") ? $0 + "/.local/state" : nil }
        let state = environment["XDG_STATE_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
        guard let folder = state ?? home else { return nil }
        let name =
            SyncStoreOptions.isPostgres(database)
            ? database : URL(filePath: database).standardizedFileURL.resolvingSymlinksInPath().path
        return StateFile(path: "\(folder)/lfs-server/\(SigningService.hash(ofCaller: name)).json")
    }

    /// Returns the mark, or nil if the file does not exist.
    ///
    /// - Throws: `ValidationError` for a file without a mark, and errors of the file system.
    func read() throws -> SyncHistoryMark? {
        let data: Data
        do {
            data = try Data(contentsOf: URL(filePath: path))
        } catch CocoaError.fileReadNoSuchFile {
            return nil
        }
        do {
            return try JSONDecoder().decode(Content.self, from: data).mark
        } catch {
            throw ValidationError(
                """
                \(path) is not the state of a server. If the database was restored from a backup, run \
                'lfs-server restored'. Then remove the file.
                """)
        }
    }

    /// Replaces the file.
    ///
    /// - Throws: an error of the file system.
    func write(_ mark: SyncHistoryMark) throws {
        let url = URL(filePath: path)
        try FileManager.default.createDirectory(
            at: url.deletingLastPathComponent(), withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        try (encoder.encode(Content(mark: mark)) + Data("\n".utf8)).write(to: url, options: .atomic)
    }
}
