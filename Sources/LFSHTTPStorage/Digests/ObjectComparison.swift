package import LFSStorage

/// What a storage's own word says of an object and of bytes that are not here.
package enum ObjectComparison: Sendable {
    /// It has these bytes.
    case same(RemoteObject)
    /// It has others.
    case other
    /// The size is right, and nothing is said of the bytes.
    case unknown(RemoteObject)
}
