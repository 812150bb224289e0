import Foundation
import LFSSystem

extension LFSManager {
    /// Creates the file of a database with mode 0600, or removes the permissions of other users from an existing file.
    /// Call it before GRDB opens the database, because SQLite creates files that all users can read.
    ///
    /// The WAL and its index get the mode of the database file. Existing ones lose the permissions of other users too.
    ///
    /// - Parameter path: The database file. Its folder must exist.
    /// - Returns: The paths whose mode could not be changed, for example on a file system without modes. Files of other
    ///   users are not changed.
    /// - Throws: `POSIXError` if the file cannot be created.
    @discardableResult public static func makePrivateDatabase(at path: String) throws -> [String] {
        do throws(SystemError) {
            return try PrivateFile.make(path)
        } catch {
            throw POSIXError(POSIXErrorCode(rawValue: error.errno) ?? .EIO)
        }
    }
}
