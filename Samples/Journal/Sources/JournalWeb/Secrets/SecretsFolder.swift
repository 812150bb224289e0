public import Foundation
public import LFSSettings

/// The folder with what nobody else may know of a journal: a sealed file, and apart from it its key.
///
/// It belongs neither beside the database nor into the backups of that. Several journals may have one together.
public struct SecretsFolder: Hashable, Sendable {
    /// Where it is.
    public let url: URL

    /// A folder, which is made when it is needed first.
    ///
    /// - Parameter path: nil for `journal` in the user's folder for state, such as `~/.local/state/journal`.
    /// - Throws: `SettingsError.Code.notConfigured` when the environment has no such folder.
    public init(_ path: String? = nil) throws {
        url = URL(filePath: try path ?? StandardLocations(app: "journal").state, directoryHint: .isDirectory)
    }

    /// Makes the folder, for this user alone, unless it is there.
    ///
    /// - Throws: ``WebError/Code/unusableFile``.
    func keychain() throws(WebError) -> KeychainBackend {
        do {
            try FileManager.default.createDirectory(
                at: url, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw WebError(
                .unusableFile,
                "The folder of the secrets, \(url.path), cannot be made. Make it, or name another one: \(error)")
        }
        let folder = url.standardizedFileURL
        return .sealedFile(
            at: folder.appending(path: "secrets").path,
            key: .keyFile(folder.appending(path: "keys/secrets").path))
    }
}
