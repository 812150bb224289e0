package import Foundation

/// A folder that was used before and cannot be used now. It may contain the bytes of files.
package struct AbsentFolder: Hashable, Sendable {
    /// The location of the folder.
    package var url: URL
    /// A sentence for the person who has to make the folder available again.
    package var reason: String
}
