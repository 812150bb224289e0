import Foundation
import LFS

/// The database's file. Only its owner may read it, because it contains the paths of all pushed files.
enum PrivateFile {
    /// Creates an empty file with mode 0600 if it is missing. If the file exists, removes the access of other users.
    ///
    /// - Throws: ``UploaderError`` if the file cannot be created.
    static func make(_ path: String) throws {
        try requireFolder(of: path)
        do {
            for file in try LFSManager.makePrivateDatabase(at: path) {
                Console.message(
                    "uploader: others may read \(file), and its mode cannot be changed: run chmod 600 on it.")
            }
        } catch let error as POSIXError {
            throw UploaderError(
                "The database \(path) cannot be created: \(String(cString: strerror(error.code.rawValue)))")
        }
    }

    private static func requireFolder(of path: String) throws {
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: folder, isDirectory: &isFolder), isFolder.boolValue else {
            throw UploaderError(
                "The folder \(folder) for the database does not exist. Create it first: mkdir -p '\(folder)'")
        }
    }
}
