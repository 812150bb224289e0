public import Foundation

/// A folder that was used before, may have bytes of files, and cannot be used now.
public struct AbsentFolder: Hashable, Sendable {
    /// Where it was.
    public var url: URL
    /// A sentence for the person who has to bring it back.
    public var reason: String
}
