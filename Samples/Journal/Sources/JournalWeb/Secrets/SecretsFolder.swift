public import Foundation
import LFSSettings

/// The folder of a journal's secrets: a sealed file, and its key in a folder of its own.
///
/// The folder should not be next to the database nor in the database's backups. Several journals may share it.
public struct SecretsFolder: Hashable, Sendable {
    /// The URL of the folder.
    public let url: URL

    /// Determines the folder, which is created when it is first needed.
    ///
    /// - Parameter path: The path. Nil for `journal` in the user's folder for state, such as `~/.local/state/journal`.
    /// - Throws: `SettingsError.Code.notConfigured` if the environment has no such folder.
    public init(_ path: String? = nil) throws {
        url = URL(filePath: try path ?? StandardLocations(app: "journal").state, directoryHint: .isDirectory)
    }

    /// Creates the folder for this user only, unless it exists.
    ///
    /// - Throws: ``WebError/Code/unusableFile``.
    func keychain() throws(WebError) -> KeychainBackend {
        do {
            try FileManager.default.createDirectory(
                at: url, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw WebError(
                .unusableFile,
                message:
                    "The folder of the secrets, \(url.path), cannot be created. Name another one: \(error)")
        }
        let folder = url.standardizedFileURL
        return .sealedFile(
            at: folder.appending(path: "secrets").path,
            key: .keyFile(folder.appending(path: "keys/secrets").path))
    }
}
