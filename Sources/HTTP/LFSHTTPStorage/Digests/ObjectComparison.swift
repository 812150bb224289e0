package import LFSStorage

/// The result of comparing an object with bytes that are not on this device, based on the storage's own metadata.
package enum ObjectComparison: Sendable {
    /// The object has these bytes.
    case same(RemoteObject)
    /// The object has other bytes.
    case other
    /// The size matches, but the storage keeps no checksum of the bytes.
    case unknown(RemoteObject)
}
