import Foundation
import LFS

extension FileID {
    /// Returns an id that no file has.
    static func sample() throws -> FileID {
        guard let id = FileID(UUID().uuidString.lowercased()) else { throw CocoaError(.coderInvalidValue) }
        return id
    }
}
